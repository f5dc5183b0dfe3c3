// Package schema says what is wrong with a JSON document by a JSON Schema.
package schema

import (
	"fmt"
	"path/filepath"

	"github.com/xeipuuv/gojsonschema"
)

// Problems are the reasons for which a document is not valid by the schema in a file; none: it is.
// The error is that of a file that is no schema, or of a text that is no JSON.
func Problems(file string, document []byte) (list []string, err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	result, err := gojsonschema.Validate(gojsonschema.NewReferenceLoader("file://"+path),
		gojsonschema.NewBytesLoader(document))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// All are named, and not the first only: they may have one cause.
	for _, problem := range result.Errors() {
		list = append(list, problem.String())
	}
	return list, nil
}
