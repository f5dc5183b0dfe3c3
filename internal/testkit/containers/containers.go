// Package containers makes container images for tests, of files that this machine has: programs
// with the libraries that they load. No registry is asked.
package containers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Entry is a file of a layer. Without a type it is a regular file, or a directory if its name ends
// with a slash.
type Entry struct {
	Name     string
	Content  string
	Mode     int64 // 0: 0644, and 0755 of a directory
	Type     byte  // of package tar
	Link     string
	UID, GID int
}

// Layer is a layer of an image.
type Layer []Entry

// Image is what an image consists of. Without an architecture it is for amd64.
type Image struct {
	Layers       []Layer
	Config       Config
	Architecture string
	Tag          string // web:1
	// MediaType is that of the layers in a layout; empty: the right one.
	MediaType string
}

// Config says how the program of an image is run.
type Config struct {
	User       string              `json:",omitempty"`
	Env        []string            `json:",omitempty"`
	Entrypoint []string            `json:",omitempty"`
	Cmd        []string            `json:",omitempty"`
	WorkingDir string              `json:",omitempty"`
	Volumes    map[string]struct{} `json:",omitempty"`
}

// Programs is a layer with programs of this machine at the places that they have here, and with the
// libraries that ldd names. Directories such as /bin are links into /usr, as distributions have
// them.
func Programs(files ...string) (l Layer, err error) {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		l = append(l, Entry{Name: "usr/" + name + "/"},
			Entry{Name: name, Type: tar.TypeSymlink, Link: "usr/" + name})
	}
	l = append(l, Entry{Name: "tmp/", Mode: 0o1777}, Entry{Name: "run/"},
		Entry{Name: "etc/passwd",
			Content: "root:x:0:0:root:/root:/bin/sh\nweb:x:1234:1235::/var/web:/bin/sh\n"},
		Entry{Name: "etc/group", Content: "root:x:0:\nweb:x:1235:\nothers:x:1236:web\n"})
	seen := map[string]bool{}
	add := func(file string) error {
		content, err := os.ReadFile(file)
		if !strings.HasPrefix(file, "/usr/") {
			file = "/usr" + file
		}
		if !seen[file] {
			l = append(l, Entry{Name: file[1:], Content: string(content), Mode: 0o755})
		}
		seen[file] = true
		return err
	}
	for _, file := range files {
		listed, err := exec.Command("ldd", file).CombinedOutput()
		if err != nil && !strings.Contains(string(listed), "not a dynamic executable") {
			return nil, fmt.Errorf("ldd %s: %w: %s", file, err, listed)
		}
		if err := add(file); err != nil {
			return nil, err
		}
		for word := range strings.FieldsSeq(string(listed)) {
			if strings.HasPrefix(word, "/") && strings.Contains(word, ".so") {
				if err := add(word); err != nil {
					return nil, err
				}
			}
		}
	}
	return l, nil
}

// Merecat is an image of the server merecat, which serves files in /var/www on port 8080.
func Merecat() (Image, error) {
	programs, err := Programs("/usr/sbin/merecat")
	pages := Layer{
		{Name: "etc/merecat.conf", Content: "username = root\nchroot = false\nhostname = 127.0.0.1\n"},
		{Name: "var/www/a.txt", Content: "alpha\n"},
		{Name: "var/www/b.txt", Content: "beta\n"},
	}
	return Image{Layers: []Layer{programs, pages}, Tag: "web:1", Config: Config{
		Env:        []string{"PATH=/usr/sbin:/usr/bin", "TZ=UTC"},
		Entrypoint: []string{"merecat", "-n", "-f", "/etc/merecat.conf", "-P", "/run/merecat.pid"},
		Cmd:        []string{"-p", "8080", "www"},
		WorkingDir: "/var",
	}}, err
}

// archive is a tar archive of a layer. Its times are always the same.
func (l Layer) archive() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range l {
		h := &tar.Header{Name: e.Name, Mode: e.Mode, Typeflag: e.Type, Linkname: e.Link, Uid: e.UID,
			Gid:     e.GID,
			ModTime: time.Unix(1_700_000_000, 0), Size: int64(len(e.Content))}
		isDirectory := strings.HasSuffix(e.Name, "/")
		switch {
		case e.Type == 0 && isDirectory:
			h.Typeflag = tar.TypeDir
		case e.Type == 0:
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			if h.Mode = 0o644; isDirectory {
				h.Mode = 0o755
			}
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, e.Content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// parts are the layers, not compressed, and the configuration.
func (i Image) parts() (layers [][]byte, config []byte, err error) {
	var diffs []string
	for _, l := range i.Layers {
		content, err := l.archive()
		if err != nil {
			return nil, nil, err
		}
		layers, diffs = append(layers, content), append(diffs, Digest(content))
	}
	if i.Architecture == "" {
		i.Architecture = "amd64"
	}
	config, err = json.Marshal(map[string]any{"architecture": i.Architecture, "os": "linux",
		"config": i.Config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs}})
	return layers, config, err
}

// Digest is the digest of a content.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ID is the digest of the configuration.
func (i Image) ID() (string, error) {
	_, config, err := i.parts()
	return Digest(config), err
}

// Save writes an archive as docker save does, compressed if its name ends with .gz.
func (i Image) Save(file string) error {
	layers, config, err := i.parts()
	if err != nil {
		return err
	}
	var names []string
	var all Layer
	for n, l := range layers {
		name := fmt.Sprintf("%d/layer.tar", n)
		names, all = append(names, name), append(all, Entry{Name: name, Content: string(l)})
	}
	name := strings.TrimPrefix(Digest(config), "sha256:") + ".json"
	list, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{i.Tag},
		"Layers": names}})
	if err != nil {
		return err
	}
	content, err := append(all, Entry{Name: name, Content: string(config)},
		Entry{Name: "manifest.json", Content: string(list)}).archive()
	if err == nil && strings.HasSuffix(file, ".gz") {
		content, err = compress(content)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// Layout writes images into a directory in the OCI image layout. Their layers are compressed.
func Layout(directory string, images ...Image) error {
	blobs := filepath.Join(directory, "blobs/sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	put := func(kind string, content []byte) (map[string]any, error) {
		digest := Digest(content)
		err := os.WriteFile(filepath.Join(blobs, strings.TrimPrefix(digest, "sha256:")), content, 0o644)
		return map[string]any{"mediaType": kind, "digest": digest, "size": len(content)}, err
	}
	var manifests []any
	for _, i := range images {
		layers, config, err := i.parts()
		if err != nil {
			return err
		}
		kind := i.MediaType
		if kind == "" {
			kind = "application/vnd.oci.image.layer.v1.tar+gzip"
		}
		var list []any
		for _, l := range layers {
			content, err := compress(l)
			if err != nil {
				return err
			}
			d, err := put(kind, content)
			if err != nil {
				return err
			}
			list = append(list, d)
		}
		c, err := put("application/vnd.oci.image.config.v1+json", config)
		if err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "config": c, "layers": list})
		if err != nil {
			return err
		}
		m, err := put("application/vnd.oci.image.manifest.v1+json", text)
		if err != nil {
			return err
		}
		_, tag, _ := strings.Cut(i.Tag, ":")
		m["annotations"] = map[string]string{"org.opencontainers.image.ref.name": tag}
		manifests = append(manifests, m)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": manifests})
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(directory, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`),
		0o644)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "index.json"), index, 0o644)
}

// compress compresses by gzip.
func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, err := w.Write(content)
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}
