package fingerprint

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// maxShown bounds the values that are kept as they are, in bytes. Of longer ones there is a hash.
const maxShown = 100

// Values lists the values of a configuration, or of a part of one, by their keys, as a file writes
// them. Long values are given by their hash.
// Lists have keys with an index. Values of null are left out, so a field without a value equals one
// that is missing.
func Values(config any) (map[string]string, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	var walk func(key string, value any)
	walk = func(key string, value any) {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			for name, inner := range value {
				walk(keyOf(key, name), inner)
			}
		case []any:
			for i, inner := range value {
				walk(fmt.Sprintf("%s[%d]", key, i), inner)
			}
		default:
			text, _ := json.Marshal(value) // it has just been read
			if flat[key] = string(text); len(text) > maxShown {
				flat[key] = fmt.Sprintf("%d bytes with the hash %x", len(text), sha256.Sum256(text))
			}
		}
	}
	walk("", tree)
	return flat, nil
}

// keyOf is the key of a field as a file writes it: SelfCheck is self_check. The fields of World and
// Group are keys at the top of a file.
// Other structs put their name before, with a dot.
func keyOf(above, name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if above == "" || above == "world" || above == "group" {
		return b.String()
	}
	return above + "." + b.String()
}
