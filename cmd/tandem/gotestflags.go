package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// goFlag is a flag of go test that tandem test does not have: what is done with it. It is refused
// but for the ignored value.
type goFlag struct {
	isBool  bool   // its value can be left out, and is part of the same argument
	ignored string // a value that changes nothing here
	always  bool   // refused whatever its value
	instead string // why it is refused, and what to use
}

// The advice that several flags have in common.
const (
	noBenchmarks = "benchmarks are not run under control: go test runs them"
	noFuzzing    = "fuzz targets are not run under control: go test runs them"
	noProfiles   = "profiles of executions under control say nothing of the program: go test makes them"
	noCoverage   = "coverage is not measured: go test does that"
	byGOFLAGS    = "set it in the environment variable GOFLAGS, for tandem replay, too"
	ownToolchain = "programs are built with the go command's own compiler and modes"
	testBinary   = "it is one of the test binary: give the flag without test., or after --"
)

// goFlags are the flags of go test and go build by name, but for those that tandem test has itself.
// So a user of go test is told what to do, and never just that there is no such flag.
var goFlags = map[string]goFlag{
	"C":                    {instead: "change to the directory before"},
	"a":                    {isBool: true, instead: "packages are built anew when they have changed"},
	"args":                 {isBool: true, instead: "give arguments of the tests after --"},
	"artifacts":            {isBool: true, instead: "files that tests write do not last"},
	"asan":                 {isBool: true, instead: "programs that need cgo cannot be checked"},
	"asmflags":             {instead: byGOFLAGS},
	"bench":                {instead: noBenchmarks},
	"benchmem":             {isBool: true, instead: noBenchmarks},
	"benchtime":            {instead: noBenchmarks},
	"blockprofile":         {instead: noProfiles},
	"blockprofilerate":     {instead: noProfiles},
	"buildmode":            {instead: ownToolchain},
	"buildvcs":             {isBool: true, instead: byGOFLAGS},
	"compiler":             {instead: ownToolchain},
	"count":                {ignored: "1", instead: "a schedule is run once: --executions bounds how many"},
	"cover":                {isBool: true, instead: noCoverage},
	"covermode":            {instead: noCoverage},
	"coverpkg":             {instead: noCoverage},
	"coverprofile":         {instead: noCoverage},
	"cpu":                  {instead: "goroutines run in every order: --workers is for executions"},
	"cpuprofile":           {instead: noProfiles},
	"exec":                 {instead: "tests are run under control and by nothing else"},
	"failfast":             {isBool: true, instead: "each test has its verdict: --run selects some"},
	"fullpath":             {isBool: true, instead: "the names of files are those of package testing"},
	"fuzz":                 {instead: noFuzzing},
	"fuzzminimizetime":     {instead: noFuzzing},
	"fuzztime":             {instead: noFuzzing},
	"gccgoflags":           {instead: ownToolchain},
	"gcflags":              {instead: byGOFLAGS},
	"installsuffix":        {instead: ownToolchain},
	"ldflags":              {instead: byGOFLAGS},
	"linkshared":           {isBool: true, instead: ownToolchain},
	"list":                 {instead: "go test lists tests"},
	"memprofile":           {instead: noProfiles},
	"memprofilerate":       {instead: noProfiles},
	"mod":                  {instead: byGOFLAGS},
	"modcacherw":           {isBool: true, instead: byGOFLAGS},
	"modfile":              {instead: byGOFLAGS},
	"msan":                 {isBool: true, instead: "programs that need cgo cannot be checked"},
	"mutexprofile":         {instead: noProfiles},
	"mutexprofilefraction": {instead: noProfiles},
	"n":                    {isBool: true, instead: "--verbose says more of what happens"},
	"o":                    {instead: "counterexamples are named after their tests"},
	"outputdir":            {instead: noProfiles},
	"overlay":              {instead: byGOFLAGS},
	"p":                    {instead: "one package is checked after the other: --workers is for executions"},
	"parallel":             {instead: "parallel subtests are checked by themselves, or --together"},
	"pgo":                  {instead: byGOFLAGS},
	"pkgdir":               {instead: ownToolchain},
	"race":                 {isBool: true, ignored: "true", instead: "--races says where to look"},
	"shuffle":              {ignored: "off", instead: "each test is checked by itself, in no order"},
	"toolexec":             {instead: ownToolchain},
	"trace":                {instead: noProfiles},
	"trimpath":             {isBool: true, instead: byGOFLAGS},
	"vet":                  {ignored: "off", instead: "go vet is a command of its own"},
	"work":                 {isBool: true, instead: "--verbose says more of what happens"},
	"x":                    {isBool: true, instead: "--verbose says more of what happens"},
}

// likeGoTest takes the arguments of tandem test as people are used to from go test: flags with one
// dash, and those of go test that mean the same here, or nothing. The others are refused by name.
// What comes after two dashes is left as it is. The given arguments are not changed.
func likeGoTest(args []string) ([]string, error) {
	if len(args) == 0 || args[0] != "test" {
		return args, nil
	}
	// The flags are asked, so that a new one needs no entry here.
	own := testCommand().Flags()
	own.Bool("help", false, "")
	list := []string{args[0]}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(list, args[i:]...), nil
		}
		dashes, name, value, hasValue := cutFlag(arg)
		if dashes == 0 {
			list = append(list, arg)
			continue
		}
		if flag := own.Lookup(name); flag != nil {
			list = append(list, "--"+arg[dashes:])
			// The value is the next argument: it must not be taken for a flag of go test.
			if !hasValue && !isBool(flag) && i+1 < len(args) {
				i++
				list = append(list, args[i])
			}
			continue
		}
		known, ok := goFlags[name]
		if strings.HasPrefix(name, "test.") {
			// Its value is left to the test binary: false is no reason to take it for nothing.
			known, ok = goFlag{isBool: true, always: true, instead: testBinary}, true
		}
		if !ok {
			list = append(list, arg) // a shorthand, or nothing that there is
			continue
		}
		if !hasValue && known.isBool {
			value = "true"
		} else if !hasValue && i+1 < len(args) {
			i++
			value = args[i]
		}
		translated, err := known.translate(name, value)
		if err != nil {
			return nil, err
		}
		list = append(list, translated...)
	}
	return list, nil
}

// translate is what tandem test takes in place of a flag of go test. It is nothing for a value that
// means the same here. The error names the flag.
func (f goFlag) translate(name, value string) ([]string, error) {
	if on, err := strconv.ParseBool(value); f.isBool && err == nil {
		value = strconv.FormatBool(on) // 1 and T are true, too
	}
	if !f.always && (f.ignored != "" && value == f.ignored || f.isBool && value == "false") {
		return nil, nil
	}
	shown := "-" + name
	if !f.isBool && value != "" {
		shown += "=" + value
	}
	return nil, fmt.Errorf("%s of go test is not a flag of tandem test: %s", shown, f.instead)
}

// cutFlag takes an argument apart that looks like a flag; without dashes it is none. More than two
// dashes are no flag, and neither are dashes alone.
func cutFlag(arg string) (dashes int, name, value string, hasValue bool) {
	name = strings.TrimLeft(arg, "-")
	dashes = len(arg) - len(name)
	if dashes > 2 || name == "" {
		return 0, "", "", false
	}
	name, value, hasValue = strings.Cut(name, "=")
	return dashes, name, value, hasValue
}

// isBool reports whether the value of a flag can be left out.
func isBool(flag *pflag.Flag) bool { return flag.NoOptDefVal != "" }
