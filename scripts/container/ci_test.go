package container

import (
	"archive/zip"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// job is a job of one of the two systems, as far as it is run here.
type job struct {
	BeforeScript []string `yaml:"before_script"` // of GitLab, as Script
	Script       []string
	Steps        []struct{ Run, Uses string } // of GitHub
}

// commands are those that a job gives to a shell.
func (j job) commands() (list []string) {
	for _, s := range j.Steps {
		if s.Run != "" {
			list = append(list, s.Run)
		}
	}
	return append(append(list, j.BeforeScript...), j.Script...)
}

// jobs reads the jobs of both documents. A job of GitLab has what it extends.
func jobs(t *testing.T) map[string]job {
	t.Helper()
	var github struct{ Jobs map[string]job }
	var gitlab map[string]job
	for name, into := range map[string]any{"github": &github, "gitlab": &gitlab} {
		if err := yaml.Unmarshal([]byte(read(t, "docs/ci/"+name+".yml")), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	all := map[string]job{}
	for name, j := range github.Jobs {
		all["github "+name] = j
	}
	for name, j := range gitlab {
		if strings.HasPrefix(name, ".") {
			continue
		}
		j.BeforeScript = append(gitlab[".tandem"].BeforeScript, j.BeforeScript...)
		all["gitlab "+name] = j
	}
	return all
}

// TestJobs: every job has commands, and each runs Tandem.
func TestJobs(t *testing.T) {
	all := jobs(t)
	if len(all) != len(environments) {
		t.Errorf("%d jobs, of which %d are known here", len(all), len(environments))
	}
	for name, j := range all {
		text := strings.Join(j.commands(), "\n")
		if !regexp.MustCompile(`\btandem (test|check) `).MatchString(text) {
			t.Errorf("job %s does not run Tandem:\n%s", name, text)
		}
		if _, known := environments[name]; !known {
			t.Errorf("job %s is not tried", name)
		}
	}
}

// environments are where jobs run here, as options of docker run for the image of Go. A job that
// uses docker runs on this machine. A runner of GitHub has a user of its own, who may become root.
var environments = map[string]string{
	"github alone":        "--user 1000:1000 --network none",
	"github peers":        "--privileged --network host",
	"github container":    "",
	"gitlab tandem":       "--network none",
	"gitlab tandem-peers": "--privileged --network host",
}

// tryJobs runs the commands of all jobs in a small project. Modules come from a directory, in which
// the newest release of Tandem is this tree. Jobs share a home, and with it what Go has compiled.
// The user's job comes first, by its name, so that root's may write there too.
func tryJobs(t *testing.T, e *engine) {
	proxy := t.TempDir()
	publish(t, proxy)
	const home = "tandem-test-home"
	docker(t, "run", "--rm", "--network", "none", "-v", home+":/home/ci", *goImage, "chmod", "1777",
		"/home/ci")
	t.Cleanup(func() { docker(t, "volume", "rm", home) })
	all := jobs(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			script := "set -e\n" + strings.Join(all[name].commands(), "\n") + "\n"
			options := []string{"-v", home + ":/home/ci", "-v", proxy + ":/proxy:ro"}
			var c *exec.Cmd
			if where := environments[name]; where == "" {
				c = onThisMachine(t, script)
			} else {
				c = e.inGoImage(append(options, strings.Fields(where)...), script, newProject(t, "project"))
			}
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(strings.ToLower(string(out)), "holds") {
				t.Errorf("%v, want holds\n%s\n%s", err, script, out)
			}
		})
	}
}

// onThisMachine is a job that uses docker, run in a new project. The image has been built, of this
// tree, so its name is all that is left to do of that.
func onThisMachine(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	docker(t, "tag", tandemImage, "tandem")
	t.Cleanup(func() { docker(t, "image", "rm", "--force", "--no-prune", "tandem") })
	script = regexp.MustCompile(`(?m)^docker build .*`).ReplaceAllString(script, ":")
	summary := filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(summary, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", script)
	c.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	c.Dir = newProject(t, "project")
	return c
}

// inGoImage is a job in the image of Go, which has all that it needs of modules. A runner has sudo,
// and this image has not: where it is needed the user is root already.
func (e *engine) inGoImage(options []string, script, project string) *exec.Cmd {
	const sudo = "mkdir /tmp/bin\nPATH=$PATH:/tmp/bin\n" +
		"printf '#!/bin/sh\\n[ $1 != --preserve-env ] || shift\\nexec \"$@\"\\n' >/tmp/bin/sudo\n" +
		"chmod +x /tmp/bin/sudo\n"
	args := []string{"run", "--rm", "--entrypoint", "sh", "-e", "HOME=/home/ci",
		"-v", project + ":/project", "-w", "/project", "-v", e.modules + ":/modules:ro",
		"-e", "GOPROXY=file:///proxy,file:///modules/cache/download", "-e", "GOSUMDB=off"}
	return exec.Command("docker", append(append(args, options...), *goImage, "-c", sudo+script)...)
}

// newProject makes a module of a user in a directory that anybody may write to.
func newProject(t *testing.T, name string) string {
	t.Helper()
	project := t.TempDir()
	if err := os.CopyFS(project, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(project, "go.mod.txt"), filepath.Join(project, "go.mod")); err != nil {
		t.Fatal(err)
	}
	command(t, "chmod", "-R", "a+rwX", filepath.Dir(project))
	return project
}

// publish puts this tree into a directory that serves as a proxy of modules, as a version that is
// newer than any release.
func publish(t *testing.T, directory string) {
	t.Helper()
	const module, version = "github.com/tandem-mc/tandem", "v0.999.0"
	place := filepath.Join(directory, module, "@v")
	if err := os.MkdirAll(place, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf("{%q: %q}", "Version", version),
		version + ".mod":  read(t, "go.mod"),
	} {
		if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(place, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	files := strings.Fields(command(t, "git", "-C", root, "ls-files", "--cached", "--others",
		"--exclude-standard"))
	var others []string // directories of other modules, which a module does not have
	for _, name := range files {
		if filepath.Base(name) == "go.mod" && name != "go.mod" {
			others = append(others, filepath.Dir(name)+"/")
		}
	}
	archive := zip.NewWriter(file)
next:
	for _, name := range files {
		for _, other := range others {
			if strings.HasPrefix(name, other) {
				continue next
			}
		}
		w, err := archive.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(read(t, name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	command(t, "chmod", "-R", "a+rX", filepath.Dir(directory))
}
