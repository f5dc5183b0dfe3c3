package container

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// service is a service of compose.yaml. It has all keys that are used there: others are an error.
type service struct {
	Image       string
	Build       string
	Profiles    []string
	DependsOn   []string `yaml:"depends_on"`
	Privileged  bool
	PID         string   `yaml:"pid"`
	NetworkMode string   `yaml:"network_mode"`
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	Entrypoint  []string
	Command     []string
	Volumes     []string
}

// services reads compose.yaml.
func services(t *testing.T) map[string]service {
	t.Helper()
	var document struct {
		Services map[string]service
		Volumes  map[string]any
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "compose.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	for name, s := range document.Services {
		for _, v := range s.Volumes {
			if source, _, _ := strings.Cut(v, ":"); source != "." {
				if _, declared := document.Volumes[source]; !declared {
					t.Errorf("service %s has the volume %s, which is not declared", name, source)
				}
			}
		}
	}
	return document.Services
}

// TestCompose: the services are of the image of the Dockerfile, and speak through one socket.
func TestCompose(t *testing.T) {
	all := services(t)
	daemon, check := all["ckptd"], all["check"]
	if daemon.Build != "." || daemon.Image == "" || check.Image != daemon.Image {
		t.Errorf("the images are %q of %q, and %q", daemon.Image, daemon.Build, check.Image)
	}
	if !slices.Equal(daemon.Volumes, check.Volumes) {
		t.Errorf("the volumes are %v and %v", daemon.Volumes, check.Volumes)
	}
	socket := daemon.Command[slices.Index(daemon.Command, "--socket")+1]
	if !slices.Contains(check.Entrypoint, socket) {
		t.Errorf("the daemon listens at %s, the check has %v", socket, check.Entrypoint)
	}
	if check.PID != "service:ckptd" || !slices.Contains(check.DependsOn, "ckptd") {
		t.Errorf("the check does not see the processes of the daemon: %+v", check)
	}
}

// run are the arguments of docker run that docker compose would make of a service. Names of volumes
// and of the other container begin with prefix.
func (s service) run(prefix, source string) []string {
	args := []string{"run", "--network", s.NetworkMode}
	if s.Privileged {
		args = append(args, "--privileged")
	}
	if of, ok := strings.CutPrefix(s.PID, "service:"); ok {
		args = append(args, "--pid", "container:"+prefix+of)
	}
	for _, c := range s.CapDrop {
		args = append(args, "--cap-drop", c)
	}
	for _, c := range s.CapAdd {
		args = append(args, "--cap-add", c)
	}
	for _, v := range s.Volumes {
		from, to, _ := strings.Cut(v, ":")
		if from == "." {
			from = source
		} else {
			from = prefix + from
		}
		args = append(args, "-v", from+":"+to)
	}
	if len(s.Entrypoint) > 0 {
		args = append(args, "--entrypoint", s.Entrypoint[0])
	}
	return args
}

// tryCompose runs the services of compose.yaml, as docker compose would: the daemon, and two checks
// at a time that use it. A project of a user is in the place of the repository.
func tryCompose(t *testing.T, e *engine) {
	all := services(t)
	prefix := "tandem-test-"
	project := newProject(t, "project")
	t.Cleanup(func() { docker(t, "volume", "rm", prefix+"socket", prefix+"cache") })
	start := append(all["ckptd"].run(prefix, project), "-d", "--name", prefix+"ckptd", tandemImage)
	docker(t, append(start, all["ckptd"].Command...)...)
	t.Cleanup(func() { docker(t, "rm", "-f", prefix+"ckptd") })
	status := []string{"exec", prefix + "ckptd", "tandem", "ckptd", "status", "--socket",
		all["ckptd"].Command[slices.Index(all["ckptd"].Command, "--socket")+1]}
	awaitSuccess(t, "docker", status...)

	check := all["check"]
	args := append(check.run(prefix, project), "--rm", tandemImage)
	args = append(append(args, check.Entrypoint[1:]...), "./cmd/client", "-o", "/tmp/counterexample")
	results := make(chan string)
	for range 2 {
		go func() {
			out, err := exec.Command("docker", args...).CombinedOutput()
			if err == nil && strings.Contains(string(out), "HOLDS") {
				out = nil
			}
			results <- string(out)
		}()
	}
	for range 2 {
		if wrong := <-results; wrong != "" {
			t.Errorf("docker %s: want HOLDS\n%s", strings.Join(args, " "), wrong)
		}
	}
	apart := slices.Clone(args)
	apart[slices.Index(apart, "--pid")+1] = "" // the default: a namespace of its own
	out, err := exec.Command("docker", apart...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in another pid namespace") {
		t.Errorf("a check in another pid namespace: %v\n%s", err, out)
	}
	if out := docker(t, status...); !strings.Contains(out, "0 of 16 clients") {
		t.Errorf("after the checks the daemon says\n%s", out)
	}
}

// awaitSuccess runs a command again until it succeeds: nothing tells when a service is ready.
func awaitSuccess(t *testing.T, name string, args ...string) {
	t.Helper()
	var out []byte
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if out, err = exec.Command(name, args...).CombinedOutput(); err == nil {
			return
		}
	}
	t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
}
