package container

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// clusterFile has the services of distributed checks.
const clusterFile = "scripts/distributed/compose.yaml"

// TestClusterFile: the servers know each other, everybody else knows all of them, the image is that
// of the Dockerfile, and servers leave nothing behind.
func TestClusterFile(t *testing.T) {
	var document struct {
		Services map[string]struct {
			Image, Build string
			Command      any
			Entrypoint   []string
			Volumes      []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, clusterFile)), &document); err != nil {
		t.Fatal(err)
	}
	var routes, urls []string
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		routes = append(routes, "nats://"+name+":6222")
		urls = append(urls, "nats://"+name+":4222")
	}
	for name, s := range document.Services {
		says := fmt.Sprint(s.Entrypoint, s.Command)
		if strings.HasPrefix(name, "nats-") {
			// Volumes without a name stay after "down", and nobody finds them again.
			if !strings.Contains(says, "--name "+name+" ") ||
				!strings.Contains(says, strings.Join(routes, ",")) || len(s.Volumes) > 0 {
				t.Errorf("the server %s has %+v", name, s)
			}
			continue
		}
		if !strings.Contains(says, strings.Join(urls, ",")) {
			t.Errorf("the service %s does not know all servers: %s", name, says)
		}
		recipe := filepath.Join(root, filepath.Dir(clusterFile), s.Build, "Dockerfile")
		if _, err := os.Stat(recipe); err != nil {
			t.Errorf("the service %s is built of %q: %v", name, s.Build, err)
		}
	}
}

// cluster is a project of compose with the services of clusterFile, in a new module.
type cluster struct {
	t       *testing.T
	compose []string // the command
	module  string   // the directory
}

// Names that nobody else uses.
const (
	natsImage      = "tandem-test/nats"
	clusterProject = "tandem-test-distributed"
)

// composeModule is built where docker has no plugin for it.
const composeModule = "github.com/docker/compose/v2@v2.40.3"

// newCluster starts the services, with four workers. They end with the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, compose: composeCommand(t), module: newProject(t, "distributed")}
	makeNATSImage(t)
	file, err := filepath.Abs(filepath.Join(root, clusterFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COMPOSE_FILE", file)
	t.Setenv("COMPOSE_PROJECT_NAME", clusterProject)
	t.Setenv("NATS_IMAGE", natsImage)
	t.Setenv("TANDEM_IMAGE", tandemImage)
	t.Cleanup(func() { c.run("down", "-v") })
	c.run("up", "-d", "--scale", "worker=4")
	return c
}

// composeCommand is docker compose, or what is built instead.
func composeCommand(t *testing.T) []string {
	t.Helper()
	if exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}
	}
	file := filepath.Join(t.TempDir(), "docker-compose")
	// Its module excludes versions of others, so it has to be the main module.
	get := exec.Command("go", "mod", "download", "-json", composeModule)
	get.Dir = t.TempDir()
	said, err := get.Output()
	var module struct{ Dir, Error string }
	if err == nil {
		err = json.Unmarshal(said, &module)
	}
	if err != nil {
		t.Fatalf("NO DOCKER COMPOSE, SO NOTHING WAS TRIED: %v\n%s", err, said)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", file, "./cmd")
	build.Dir = module.Dir
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("NO DOCKER COMPOSE, SO NOTHING WAS TRIED: %v\n%s", err, said)
	}
	return []string{file}
}

// makeNATSImage makes an image of the NATS server that this module requires. It is as nats:2 is: a
// server, and nothing else.
func makeNATSImage(t *testing.T) {
	t.Helper()
	context := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", context, "github.com/nats-io/nats-server/v2")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, said)
	}
	recipe := "FROM scratch\nCOPY nats-server /nats-server\nENTRYPOINT [\"/nats-server\"]\n"
	if err := os.WriteFile(filepath.Join(context, "Dockerfile"), []byte(recipe), 0o644); err != nil {
		t.Fatal(err)
	}
	docker(t, "build", "-t", natsImage, context)
	t.Cleanup(func() { docker(t, "image", "rm", "--force", natsImage) })
}

// command is a command of compose in the directory of the module.
func (c *cluster) command(args ...string) *exec.Cmd {
	all := append(slices.Clone(c.compose), args...)
	command := exec.Command(all[0], all[1:]...)
	command.Dir = c.module // and with it PWD, which the file names
	return command
}

// run runs a command of compose that is to succeed.
func (c *cluster) run(args ...string) string {
	c.t.Helper()
	out, err := c.command(args...).Output()
	if err != nil {
		c.t.Fatalf("compose %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// await asks for the status again until it is like a pattern, of which the group is returned.
func (c *cluster) await(pattern string) string {
	c.t.Helper()
	var said string
	for range 100 {
		said = c.run("run", "--rm", "-T", "status")
		if found := regexp.MustCompile(pattern).FindStringSubmatch(said); found != nil {
			return found[len(found)-1]
		}
	}
	c.t.Fatalf("the status is not like %s:\n%s", pattern, said)
	return ""
}

// most are more executions than any of these searches has. With a date, counterexamples are the
// same at midnight, too.
var most = []string{"--json", "--date", "2026-01-31", "--executions", "100000000"}

// outside checks the program without workers, on this machine.
func (c *cluster) outside(search string, args ...string) (result, []byte) {
	c.t.Helper()
	list := append(append([]string{"check", "./cmd/client", "--search", search}, most...), "--")
	tandem, err := filepath.Abs(filepath.Join(root, "bin", "tandem"))
	if err != nil {
		c.t.Fatal(err)
	}
	command := exec.Command(tandem, append(list, args...)...)
	command.Dir = c.module
	r := checked(c.t, command)
	return r, c.counterexample()
}

// inside is a check that leads in a container.
func (c *cluster) inside(options []string, args ...string) *exec.Cmd {
	list := append([]string{"run", "--rm", "-T", "check", "./cmd/client"}, options...)
	return c.command(append(append(list, "--"), args...)...)
}

// counterexample returns the one that a check has written, and removes it; nil: there is none. The
// hash of the program differs, since the image has a Go of its own, and so does that of the file.
func (c *cluster) counterexample() []byte {
	c.t.Helper()
	name := filepath.Join(c.module, "client.counterexample")
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return regexp.MustCompile(`"(build|sha256)":"\w+"`).ReplaceAll(text, nil)
}

// compare compares the result of a check with workers with that of one without.
func (c *cluster) compare(got, want result, example, wantExample []byte) {
	c.t.Helper()
	if !reflect.DeepEqual(got, want) || !bytes.Equal(example, wantExample) {
		c.t.Errorf("with workers: %+v\n%s\nalone: %+v\n%s", got, example, want, wantExample)
		return
	}
	c.t.Logf("%s, with and without workers: %+v", got.Verdict, got.Counts)
}

// tryDistributed runs the services of clusterFile as the guide says. A worker and a server are
// killed during a check. In the end nothing is left.
func tryDistributed(t *testing.T, e *engine) {
	e.apart(t)
	before := e.things(t)
	t.Run("cluster", func(t *testing.T) {
		c := newCluster(t)
		c.await(`(?s)(\n\S+ +\S+ .* waits for a check){4}`)
		c.tryBound()
		c.tryKills()
		c.await(`no check leads there`)
	})
	if after := e.things(t); !slices.Equal(before, after) {
		t.Errorf("before there were %v, afterwards there are %v", before, after)
	}
}

// tryBound has a check end at a bound, and resumes it in another container. The search is one that
// draws nothing: others draw samples if the bound is near.
func (c *cluster) tryBound() {
	args := []string{"never", "4", "4", "4"}
	want, _ := c.outside("dpor", args...)
	var first struct {
		Verdict string
		Resume  string `json:"resume_command"`
	}
	out, _ := c.inside([]string{"--search", "dpor", "--json", "--executions", "9000"}, args...).Output()
	if err := json.Unmarshal(out, &first); err != nil || first.Verdict != "unknown" {
		c.t.Fatalf("%v\n%s", err, out)
	}
	fields := strings.Fields(first.Resume)
	name := fields[slices.Index(fields, "--resume")+1]
	got := checked(c.t, c.command("run", "--rm", "-T", "check", "--resume", name, "--json",
		"--executions", most[len(most)-1]))
	c.compare(got, want, c.counterexample(), nil)
}

// tryKills kills a worker, and a server, during a check.
func (c *cluster) tryKills() {
	args := []string{"2101122002102100", "6", "5", "5"}
	want, example := c.outside("auto", args...)
	check := c.inside(most, args...)
	var out, said bytes.Buffer
	check.Stdout, check.Stderr = &out, &said
	if err := check.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = check.Wait() // the verdict is in the output
		close(ended)
	}()
	done := c.await(`parts +([1-9]\d*) done`)
	docker(c.t, "kill", strings.Fields(c.run("ps", "-q", "worker"))[0])
	c.run("kill", "nats-1")
	c.t.Logf("killed after %s parts", done)
	select {
	case <-ended:
		c.t.Errorf("the check has ended before anything was killed:\n%s", &said)
	default:
		<-ended
	}
	var got result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		c.t.Fatalf("%v\n%s\n%s", err, &out, &said)
	}
	c.compare(got, want, c.counterexample(), example)
	helped := regexp.MustCompile(`the workers have explored .*`).FindString(said.String())
	c.t.Log(helped)
	if !regexp.MustCompile(`explored [1-9]`).MatchString(helped) {
		c.t.Errorf("no worker has helped:\n%s", &said)
	}
}
