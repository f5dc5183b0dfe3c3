package textutil

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "-1,234,567": Count(-1234567),
		"1 input": CountOf(1, "input"), "0 inputs": CountOf(0, "input"),
		"12,345 inputs": CountOf(12345, "input"),
		"1 miss":        PluralOf(1, "miss", "misses"), "2 misses": PluralOf(2, "miss", "misses"),
		"1023 B": Bytes(1023), "1.0 KiB": Bytes(1024), "1.5 MiB": Bytes(1.5 * (1 << 20)),
		"3072.0 GiB": Bytes(3 << 40),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is no escape is not the linker's, and stays.
func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", time.Nanosecond: "0.000000001 s", 250 * time.Millisecond: "0.25 s", 2 * time.Second: "2 s",
		10 * time.Second: "10 s", 2897883784 * time.Nanosecond: "2.897883784 s",
	} {
		if got := Seconds(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
}

func TestFunctionName(t *testing.T) {
	for linked, want := range map[string]string{
		"main.main": "main.main", "a/b.f[go.shape.int]": "a/b.f[go.shape.int]", "%": "%",
		"example.com/v%2e1.f": "example.com/v.1.f", "a/%25%2eb.(*T).f": "a/%.b.(*T).f",
		"a/b%zz.f": "a/b%zz.f",
	} {
		if got := FunctionName(linked); got != want {
			t.Errorf("FunctionName(%s) = %s, want %s", linked, got, want)
		}
	}
}

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"main.main": "main", "net/http.(*Server).Serve": "net/http", "example.com/v%2e1.f": "example.com/v.1",
		"a/b.f[go.shape.int]": "a/b", "gosave": "gosave", "a/b.f[example.com/c.T]": "a/b",
	} {
		if got := PackageOf(function); got != want {
			t.Errorf("PackageOf(%s) = %s, want %s", function, got, want)
		}
	}
}

// TestQuoteArg: a shell takes each argument for one word, and the right one.
func TestQuoteArg(t *testing.T) {
	args := []string{"", "a", "a b", "it's", `"`, "$HOME", "`id`", "*", "a;b", "\n", "#x", "~", `\`, "!x",
		"-n", "'''"}
	command := "printf '%s\\0'"
	for _, arg := range args {
		command += " " + QuoteArg(arg)
	}
	out, err := exec.Command("sh", "-c", command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, args) {
		t.Errorf("the shell has %q, want %q", got, args)
	}
}
