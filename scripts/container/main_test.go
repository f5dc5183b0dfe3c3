// Package container has the scripts that build and try the container of Tandem, and their test.
// The quick part looks at the files. With -container it builds the image and uses it, for which it
// takes a container engine: that of the machine, or one of its own.
package container

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	whole = flag.Bool("container", false, "build the image and use it: make container")
	// Without these two, stand-ins are made of this machine's Go and of Debian's packages.
	goImage   = flag.String("go-image", "", "`image` with Go to build with")
	baseImage = flag.String("base-image", "", "`image` of Debian to begin with")
	update    = flag.Bool("update", false, "write the table of privileges into docs/containers.md")
)

// root is the root of the repository, from here.
const root = "../.."

// TestMain says what is left out: it takes minutes, and a container engine.
func TestMain(m *testing.M) {
	flag.Parse()
	if !*whole {
		fmt.Fprintln(os.Stderr, "LEFT OUT: the image is not built and not used. `make container` does that.")
	}
	os.Exit(m.Run())
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// engine is the container engine that is used, with the images in it.
type engine struct {
	modules string // this machine's cache of modules, which containers read
	source  string // root of the repository
	own     string // directory of an engine that was started here; empty: it was there before
}

// Images that are made here. They stay in an engine that was there before.
const (
	debianImage = "tandem-test/debian"
	golangImage = "tandem-test/golang"
	tandemImage = "tandem-test/tandem"
)

// startEngine finds or starts an engine, and has it build the image. What it starts ends with the
// test.
func startEngine(t *testing.T) *engine {
	t.Helper()
	own := ""
	if exec.Command("docker", "info").Run() != nil {
		own = ownEngine(t)
	}
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.TrimSpace(command(t, "go", "env", "GOMODCACHE"))
	e := &engine{modules: modules, source: source, own: own}
	e.baseImages(t)
	began := time.Now()
	args := []string{"build", "--network", "host", "-t", tandemImage,
		"--build-arg", "GO_IMAGE=" + *goImage, "--build-arg", "BASE_IMAGE=" + *baseImage}
	if proxy := strings.TrimSpace(command(t, "go", "env", "GOPROXY")); proxy != "" {
		args = append(args, "--build-arg", "GOPROXY="+proxy)
	}
	docker(t, append(args, source)...)
	t.Cleanup(func() { docker(t, "image", "rm", "--force", "--no-prune", tandemImage) })
	t.Logf("the image was built in %v", time.Since(began).Round(time.Second))
	size := docker(t, "image", "inspect", "--format", "{{.Size}}", tandemImage)
	var bytes int64
	if _, err := fmt.Sscan(size, &bytes); err != nil {
		t.Fatal(err)
	}
	t.Logf("the image has %d MB:", bytes/1e6)
	t.Log(docker(t, "history", "--format", "{{.Size}}\t{{.CreatedBy}}", tandemImage))
	// Measured: 370 MB. More is a mistake, such as files that are there twice.
	if most := int64(420e6); bytes > most {
		t.Errorf("the image has %d bytes, want at most %d", bytes, most)
	}
	return e
}

// ownEngine starts an engine for this test, and returns its directory. Where none is to be had the
// test fails, and says so loudly: nothing was tried.
func ownEngine(t *testing.T) string {
	t.Helper()
	command(t, "./engine.sh", "install")
	directory, err := os.MkdirTemp("/var/tmp", "tandem-engine-")
	if err != nil {
		t.Fatal(err)
	}
	started, err := exec.Command("./engine.sh", "start", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("NO CONTAINER ENGINE, SO NOTHING WAS TRIED: %v\n%s", err, started)
	}
	t.Cleanup(func() { command(t, "./engine.sh", "stop", directory) })
	t.Setenv("DOCKER_HOST", strings.TrimSpace(string(started)))
	return directory
}

// apart gives an engine that was started here a network of its own, for networks of containers. So
// nothing of that touches the machine's. Containers reach nothing outside from then on.
func (e *engine) apart(t *testing.T) {
	t.Helper()
	if e.own == "" {
		return
	}
	if said, err := exec.Command("./engine.sh", "apart", e.own).CombinedOutput(); err != nil {
		t.Fatalf("the engine does not start again: %v\n%s", err, said)
	}
}

// things are what an engine has: containers, networks and volumes. Of an engine that was started
// here they are the interfaces, too.
func (e *engine) things(t *testing.T) (list []string) {
	t.Helper()
	for _, args := range [][]string{{"ps", "-aq"}, {"network", "ls", "-q"}, {"volume", "ls", "-q"}} {
		list = append(list, strings.Fields(docker(t, args...))...)
	}
	if e.own == "" {
		return list
	}
	pid := strings.TrimSpace(command(t, "cat", filepath.Join(e.own, "pid")))
	for line := range strings.Lines(command(t, "cat", "/proc/"+pid+"/net/dev")) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

// baseImages makes the stand-ins of base images that were not named.
func (e *engine) baseImages(t *testing.T) {
	t.Helper()
	if *goImage == "" && *baseImage == "" {
		*goImage, *baseImage = golangImage, debianImage
		if exec.Command("docker", "image", "inspect", golangImage, debianImage).Run() == nil {
			return
		}
		began := time.Now()
		command(t, "./base-images.sh", debianImage, golangImage)
		t.Logf("stand-ins of the base images were made in %v", time.Since(began).Round(time.Second))
	}
	if *goImage == "" || *baseImage == "" {
		t.Fatal("-go-image and -base-image belong together")
	}
}

// arguments are those of docker run for a command of Tandem in the root of the repository, which
// cannot be written to. Modules are those of this machine.
func (e *engine) arguments(options []string, tandem ...string) []string {
	list := []string{"run", "--rm", "--network", "none", "-v", e.source + ":/src:ro",
		"-v", e.modules + ":/var/cache/tandem/go/pkg/mod:ro"}
	return append(append(append(list, options...), tandemImage), tandem...)
}

// command runs a command that is to succeed, and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}

// docker runs a command of docker that is to succeed. The older builder serves where there is no
// other.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	return command(t, "docker", args...)
}
