package explore

import (
	"flag"
	"os"
	"testing"
)

// TestMain has rapid draw 15 programs in a test, and not 100, unless the command line says how
// many. Each run draws others; make deep has 100.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "15"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
