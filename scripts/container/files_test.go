package container

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// published are the files that users build from or copy.
var published = []string{"Dockerfile", ".dockerignore", "compose.yaml", clusterFile,
	"docs/ci/github.yml", "docs/ci/gitlab.yml",
	"scripts/container/prepare-go.sh", "scripts/container/base-images.sh", "scripts/container/engine.sh"}

// TestNoHosts: images, packages and modules come from where the machine gets them. So no file names
// a registry or a mirror.
func TestNoHosts(t *testing.T) {
	host := regexp.MustCompile(`[\w-]+(\.[\w-]+)*\.(com|org|net|io|dev|de)\b`)
	for _, name := range published {
		// Those are the module, and a package of Debian.
		names := strings.NewReplacer("github.com/tandem-mc/tandem", "", "dockerd docker.io", "")
		text := names.Replace(read(t, name))
		if found := host.FindString(text); found != "" {
			t.Errorf("%s names the host %s", name, found)
		}
	}
}

// TestAnyBuilder: the Dockerfile has nothing that takes BuildKit, or that a registry is asked for
// before the base images.
func TestAnyBuilder(t *testing.T) {
	text := read(t, "Dockerfile")
	for _, bad := range []string{
		`(?m)^#\s*syntax=`, `--mount`, `<<`, `(?m)^COPY .*--(chmod|link)`, `(?m)^ADD `,
	} {
		if found := regexp.MustCompile(bad).FindString(text); found != "" {
			t.Errorf("the Dockerfile has %q", found)
		}
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(from[1], "${") {
			t.Errorf("the base image %s is no argument", from[1])
		}
	}
	if strings.Contains(strings.ToLower(text), "password") || strings.Contains(text, "_KEY=") {
		t.Error("the Dockerfile has a secret")
	}
}

// one is what a pattern with a group finds in a file, in one place.
func one(t *testing.T, name, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, name), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d places like %s, want 1", name, len(found), pattern)
	}
	return found[0][1]
}

// TestVersions: what is built from is what go.mod and the rest of the repository name.
func TestVersions(t *testing.T) {
	release := one(t, "go.mod", `(?m)^go (\d+\.\d+)`)
	image := one(t, "Dockerfile", `(?m)^ARG GO_IMAGE=(\S+)`)
	suite := one(t, "Dockerfile", `(?m)^ARG BASE_IMAGE=debian:(\w+)-slim$`)
	if want := "golang:" + release + "-" + suite; image != want {
		t.Errorf("the Dockerfile builds with %s; by go.mod and the suite it is %s", image, want)
	}
	if got := one(t, "docs/ci/gitlab.yml", `(?m)^ +image: (golang:\S+)`); got != image {
		t.Errorf("the job of GitLab has %s, the Dockerfile %s", got, image)
	}
	oldest := one(t, "scripts/install-criu.sh", `(?m)^oldest=(\S+)$`)
	if known := one(t, "ckptd/internal/criu/find.go", `const minVersion = "(.*)"`); known != oldest {
		t.Errorf("install-criu.sh is content with CRIU %s, and a check with %s", oldest, known)
	}
	if !strings.Contains(read(t, "Dockerfile"), "install-criu.sh") {
		t.Error("the Dockerfile has another CRIU than that of install-criu.sh")
	}
	if text := read(t, "scripts/container/testdata/imports.go"); !strings.Contains(text, "package main") {
		t.Error("the program that has the library compiled is none")
	}
}

// TestPlaces: scripts and files that belong together name the same places and packages.
func TestPlaces(t *testing.T) {
	cache := one(t, "Dockerfile", `XDG_CACHE_HOME=(\S+)`)
	if got := one(t, "scripts/container/prepare-go.sh", `(?m)^cache=(\S+)`); got != cache {
		t.Errorf("prepare-go.sh fills %s, and the cache is %s", got, cache)
	}
	packages := one(t, "Dockerfile", `(?s)--no-install-recommends install \\\n(.*?)&&`)
	known := strings.Fields(read(t, "scripts/setup.sh"))
	for _, name := range strings.Fields(strings.ReplaceAll(packages, "\\", "")) {
		if !slices.Contains(known, name) {
			t.Errorf("the image has %s, of which setup.sh knows nothing", name)
		}
	}
	ignored := strings.Fields(read(t, ".dockerignore"))
	for _, name := range []string{".git", "bin"} {
		if !slices.Contains(ignored, name) {
			t.Errorf("%s is a part of what the image is built of", name)
		}
	}
}

// TestYAML: the files for others are YAML, and have what these look for.
func TestYAML(t *testing.T) {
	for name, keys := range map[string][]string{
		"compose.yaml":       {"services", "volumes"},
		"docs/ci/github.yml": {"on", "jobs"},
		"docs/ci/gitlab.yml": {"tandem"},
	} {
		var document map[string]any
		if err := yaml.Unmarshal([]byte(read(t, name)), &document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, key := range keys {
			if document[key] == nil {
				t.Errorf("%s has no %q", name, key)
			}
		}
	}
}
