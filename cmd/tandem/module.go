package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fileFlags say which flags name files, for the completion of shells, and for enter. Flags that a
// command does not have are left out.
func fileFlags(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if flags.Lookup(name) == nil {
			continue
		}
		if err := cobra.MarkFlagFilename(flags, name); err != nil {
			panic(err) // the flag is there
		}
	}
}

// packageOf is the package that arguments name, and those that follow after two dashes. Without a
// package it is that of the working directory. What is in another module is entered; see enter.
func packageOf(c *cobra.Command, args []string) (pkg string, rest []string, err error) {
	// dash is how many arguments there are before --, and -1 without it.
	switch dash := c.ArgsLenAtDash(); {
	case dash > 1 || dash < 0 && len(args) > 1:
		return "", nil, onePackage(c, args)
	case len(args) == 0 || dash == 0:
		args = append([]string{"."}, args...)
	}
	pkg, err = enter(c.ErrOrStderr(), c.Flags(), args[0])
	return pkg, args[1:], err
}

// wrongValue is the error of a flag whose value is missing or cannot be read, with what can be; nil
// for other errors. Such a flag is one of the command, so it is not meant for the program.
func wrongValue(c *cobra.Command, err error) error {
	// Nothing else tells the flag than these types.
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var flag *pflag.Flag
	switch {
	case errors.As(err, &invalid):
		flag = invalid.GetFlag()
	case errors.As(err, &missing):
		flag = missing.GetFlag()
	}
	if flag == nil {
		return nil
	}
	// By the names that pflag has for types. Others say themselves what they take.
	const whole = "a whole number such as 5"
	write := map[string]string{
		"duration": "a duration such as 5s", "int": whole, "int64": whole,
		"uint64": "a whole number from 0 on", "bool": "true or false",
		"stringSlice": "values with commas between them, such as a,b",
	}[flag.Value.Type()]
	switch {
	// The text of strconv is left out: it says which function failed.
	case missing != nil:
		return fmt.Errorf("%w; write %s", err, cmp.Or(write, "one"))
	case errors.Is(err, strconv.ErrRange):
		// It is a number, so to ask for one would be no help.
		return fmt.Errorf("--%s %s: that is more than fits into 64 bits: write a number nearer to 0",
			flag.Name, invalid.GetValue())
	case write != "":
		return fmt.Errorf("--%s %s: write %s", flag.Name, invalid.GetValue(), write)
	}
	// What it takes may be known to its own type only. Most of these say so.
	return fmt.Errorf("--%s %s: %w; see %s --help", flag.Name, invalid.GetValue(), errors.Unwrap(invalid),
		c.CommandPath())
}

// unknownFlag is the error of a flag that a command does not have, or whose value is wrong. It may
// be one of the program: go run takes those without two dashes, and users are used to it. Nobody
// can tell which, so the error names both ways on.
func unknownFlag(c *cobra.Command, err error) error {
	if wrong := wrongValue(c, err); wrong != nil {
		return wrong
	}
	return fmt.Errorf("%w; give flags of the program after --, and see %s --help for the others", err,
		c.CommandPath())
}

// onePackage is the error of arguments that are no package, and are not after two dashes.
func onePackage(c *cobra.Command, args []string) error {
	if len(args) == 0 || c.ArgsLenAtDash() == 0 {
		return errors.New("name a package")
	}
	return fmt.Errorf("name one package; arguments of the program come after --: %s %s -- %s",
		c.CommandPath(), args[0], strings.Join(args[1:], " "))
}

// enter goes to the directory that a user has named if it is in another module than the working
// directory, since the go command looks packages up in one module only. It returns the pattern of
// the package as it is called there; that may end in /..., for all packages below. What is no
// directory, and what a workspace may join, is left to the go command.
//
// A line says where it goes on. Files that flags name stay those that the user meant, and so does
// where counterexamples are kept.
func enter(out io.Writer, flags *pflag.FlagSet, pattern string) (there string, err error) {
	dir, below := strings.CutSuffix(pattern, "/...")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return pattern, nil
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	// Without a module there, the go command says what is wrong.
	module, found := moduleOf(dir)
	if own, _ := moduleOf(here); !found || own == module || inWorkspace(here) {
		return pattern, nil
	}
	if err := absoluteFiles(flags); err != nil {
		return "", err
	}
	// Counterexamples stay where the user is.
	if to := flags.Lookup("out-dir"); to != nil && !to.Changed && !flags.Changed("out") {
		if err := to.Value.Set(here); err != nil {
			return "", err
		}
	}
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	fmt.Fprintf(out, "tandem: %s is in a module of its own: going on in that directory\n",
		strings.TrimSuffix(pattern, "/..."))
	// As the user has named it, seen from there.
	if below {
		return "./...", nil
	}
	return ".", nil
}

// absoluteFiles makes the files absolute that flags name, and that were given: see fileFlags. What
// is saved of the flags is absolute, too, so that a run can be resumed from anywhere. All errors
// are told.
func absoluteFiles(flags *pflag.FlagSet) (failed error) {
	flags.Visit(func(flag *pflag.Flag) {
		if _, isFile := flag.Annotations[cobra.BashCompFilenameExt]; !isFile {
			return
		}
		path, err := absolute(flag.Value.String())
		if err == nil {
			err = flag.Value.Set(path)
		}
		failed = errors.Join(failed, err)
	})
	return failed
}

// moduleOf is the root of the module that a directory is in.
func moduleOf(dir string) (root string, ok bool) { return above(dir, "go.mod") }

// inWorkspace reports whether the go command joins modules there. As for that, the variable GOWORK
// counts more than files.
func inWorkspace(dir string) bool {
	if file := os.Getenv("GOWORK"); file != "" {
		return file != "off"
	}
	_, ok := above(dir, "go.work")
	return ok
}

// above is the nearest directory, from one on up, that has a file or directory of this name.
func above(dir, name string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
