package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// found is one image of an archive.
type found struct {
	// Of the configuration.
	digest string
	config config
	layers []layer
}

// layer is a layer as it lies in an archive.
type layer struct {
	// Of its file.
	name string
	// Digest of that; empty: it is not known.
	blob string
	// Digest of what is in it, not compressed.
	diff string
	// Empty: it is not known.
	mediaType string
}

// config is what is read of the configuration of an image.
type config struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       runConfig
	RootFS       struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// runConfig says how the program is run. Engines tell it with the same names.
type runConfig struct {
	User            string
	Env             []string
	Entrypoint, Cmd []string
	WorkingDir      string
	Volumes         map[string]struct{}
}

// descriptor points to a file, by its digest.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Platform    *platform         `json:"platform"`
	Annotations map[string]string `json:"annotations"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest is an index or a manifest: an index has manifests.
type manifest struct {
	Manifests []descriptor `json:"manifests"`
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
}

// saved is an entry of manifest.json, the list that docker save writes.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// find finds the image in an archive. Wanted is a tag or a digest, and may be empty where there is
// only one. The list of docker save counts more than an index: the index may name platforms that
// were not saved.
func find(a archive, wanted string) (found, error) {
	// Newer engines write both.
	text, err := readFile(a, "manifest.json")
	if err == nil {
		return findSaved(a, text, wanted)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return found{}, err
	}
	text, err = readFile(a, "index.json")
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, fmt.Errorf("it %w: it has neither index.json (OCI) nor manifest.json (docker save); "+
			"write one with these tools", ErrNotImage)
	}
	if err != nil {
		return found{}, err
	}
	var index manifest
	if err := json.Unmarshal(text, &index); err != nil {
		return found{}, fmt.Errorf("index.json: %w; write the image anew", err)
	}
	d, err := choose(a, index.Manifests, wanted)
	if err != nil {
		return found{}, err
	}
	return findOCI(a, d)
}

// findSaved finds an image that docker save has written.
func findSaved(a archive, text []byte, wanted string) (i found, err error) {
	var all []saved
	if err := json.Unmarshal(text, &all); err != nil {
		return i, fmt.Errorf("manifest.json: %w; write the image anew", err)
	}
	var tags []string
	var s *saved
	for n := range all {
		tags = append(tags, all[n].RepoTags...)
		// The whole name, or the tag alone.
		fits := func(tag string) bool { return tag == wanted || strings.HasSuffix(tag, ":"+wanted) }
		_, hex, _ := strings.Cut(wanted, ":")
		if wanted == "" && len(all) == 1 || slices.ContainsFunc(all[n].RepoTags, fits) ||
			hex != "" && strings.Contains(all[n].Config, hex) {
			s = &all[n]
			break
		}
	}
	if s == nil {
		return i, notChosen(wanted, tags, len(all))
	}
	raw, err := readFile(a, s.Config)
	if err != nil {
		return i, err
	}
	// The configuration is what the digest of the image is of.
	if i, err = configOf(raw); err != nil {
		return i, err
	}
	// The file is called after its digest, in one way or another.
	name := strings.TrimSuffix(path.Base(s.Config), ".json")
	if len(name) == 2*sha256.Size && "sha256:"+name != i.digest {
		return i, fmt.Errorf("the digest of its configuration is %s, and not %s: %w", i.digest, name,
			errDamaged)
	}
	for _, name := range s.Layers {
		i.layers = append(i.layers, layer{name: name})
	}
	return i.check()
}

// errDamaged is what an image is whose contents do not have the digests that it says.
var errDamaged = errors.New("the image is damaged; write it anew")

// findOCI reads a manifest and its configuration.
func findOCI(a archive, d descriptor) (i found, err error) {
	text, err := readBlob(a, d.Digest)
	if err != nil {
		return i, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return i, fmt.Errorf("manifest %s: %w; write the image anew", d.Digest, err)
	}
	raw, err := readBlob(a, m.Config.Digest)
	if err != nil {
		return i, err
	}
	if i, err = configOf(raw); err != nil {
		return i, err
	}
	// Blobs are found by their digests, and verified when they are extracted.
	for _, l := range m.Layers {
		name, err := blobName(l.Digest)
		if err != nil {
			return i, err
		}
		i.layers = append(i.layers, layer{name: name, blob: l.Digest, mediaType: l.MediaType})
	}
	return i.check()
}

// check gives each layer the digest of what is in it, and looks at its kind.
func (i found) check() (found, error) {
	if n := len(i.layers); n > maxLayers {
		return i, fmt.Errorf("the image has %d layers, allowed are %d: build it with fewer", n, maxLayers)
	}
	// Else it would not be known what is to be in which layer.
	if len(i.layers) != len(i.config.RootFS.DiffIDs) {
		return i, fmt.Errorf("the image has %d layers, and digests of %d: %w", len(i.layers),
			len(i.config.RootFS.DiffIDs), errDamaged)
	}
	for n := range i.layers {
		l := &i.layers[n]
		l.diff = i.config.RootFS.DiffIDs[n]
		if err := checkMediaType(l.mediaType); err != nil {
			return i, fmt.Errorf("layer %d: %w", n+1, err)
		}
	}
	return i, nil
}

// checkMediaType refuses layers that cannot be read. How one is compressed is seen when it is read.
func checkMediaType(name string) error {
	switch {
	case strings.HasSuffix(name, "+zstd") || strings.HasSuffix(name, ".zstd"):
		return errZstd
	case name == "", strings.HasSuffix(name, ".tar"), strings.HasSuffix(name, ".tar+gzip"),
		strings.HasSuffix(name, ".tar.gzip"):
		return nil
	}
	return fmt.Errorf("its media type %.80q is not supported: give an image whose layers are tar "+
		"archives, or "+
		"such with gzip", name)
}

// configOf reads a configuration.
func configOf(raw []byte) (i found, err error) {
	i.digest = digestOf(raw)
	// What is not known of it is ignored, as the specification wants.
	if err := json.Unmarshal(raw, &i.config); err != nil {
		return i, fmt.Errorf("the configuration of the image: %w; write the image anew", err)
	}
	return i, nil
}

// choose finds the one manifest that is wanted, for this architecture, also in an index inside of
// the index.
func choose(a archive, all []descriptor, wanted string) (descriptor, error) {
	const maxDepth = 4
	var tags, platforms []string
	for range maxDepth {
		// A check at every depth, since each has a list of its own.
		if len(all) > maxManifests {
			return descriptor{}, fmt.Errorf("the index has %d manifests, allowed are %d: write fewer",
				len(all),
				maxManifests)
		}
		var fit []descriptor
		for _, d := range all {
			tag := d.Annotations["org.opencontainers.image.ref.name"]
			tags = append(tags, tag)
			name := d.Annotations["io.containerd.image.name"]
			if wanted != "" && wanted != d.Digest && wanted != tag && !strings.HasSuffix(name, ":"+wanted) {
				continue
			}
			// Attestations stand in the list as well, for a platform that is not known.
			if p := d.Platform; p != nil && (p.OS != "linux" || p.Architecture != architecture) {
				platforms = append(platforms, p.Architecture)
				continue
			}
			fit = append(fit, d)
		}
		switch {
		case len(fit) == 0 && len(platforms) > 0:
			return descriptor{}, fmt.Errorf("the image is for %s: give one for linux on %s",
				strings.Join(slices.Compact(platforms), ", "), architecture)
		// An index in the index stands for one image, for several platforms.
		case len(fit) != 1:
			return descriptor{}, notChosen(wanted, tags, len(all))
		case !strings.Contains(fit[0].MediaType, "index") && !strings.Contains(fit[0].MediaType, "list"):
			return fit[0], nil
		}
		text, err := readBlob(a, fit[0].Digest)
		if err != nil {
			return descriptor{}, err
		}
		var inner manifest
		if err := json.Unmarshal(text, &inner); err != nil {
			return descriptor{}, fmt.Errorf("index %s: %w; write the image anew", fit[0].Digest, err)
		}
		all, wanted = inner.Manifests, ""
	}
	return descriptor{}, fmt.Errorf("its indexes are in each other, more than %d deep: write the image anew",
		maxDepth)
}

// notChosen says why none of several images was chosen.
func notChosen(wanted string, tags []string, count int) error {
	// An entry need not have a tag.
	tags = slices.DeleteFunc(tags, func(t string) bool { return t == "" })
	const most = 10
	listed := strings.Join(tags[:min(len(tags), most)], ", ")
	switch {
	case wanted != "":
		return fmt.Errorf("it has no image %.80q, or several: name one of %.400s", wanted, listed)
	case count == 0:
		return fmt.Errorf("it %w: it holds none; write it anew", ErrNotImage)
	}
	return fmt.Errorf("it holds %d images: put :TAG or @DIGEST behind its name, with one of %.400s", count,
		listed)
}

// readBlob reads a small blob, and verifies it.
func readBlob(a archive, digest string) ([]byte, error) {
	name, err := blobName(digest)
	if err != nil {
		return nil, err
	}
	text, err := readFile(a, name)
	if err != nil {
		return nil, err
	}
	if now := digestOf(text); now != digest {
		return nil, fmt.Errorf("the digest of %s is %s: %w", name, now, errDamaged)
	}
	return text, nil
}

// blobName is where a blob is.
func blobName(digest string) (string, error) {
	// The digest becomes a path, so that nothing but digits may be in it.
	text, ok := strings.CutPrefix(digest, "sha256:")
	if b, err := hex.DecodeString(text); !ok || err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("%.90q is no digest by SHA-256: write the image with such", digest)
	}
	return "blobs/sha256/" + text, nil
}

// digestOf is the digest of a text.
func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// readFile reads a small file of an archive.
func readFile(a archive, name string) ([]byte, error) {
	f, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more shows that there are more.
	text, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err == nil && len(text) > maxJSON {
		err = fmt.Errorf("%s has more than %d bytes: write the image anew", name, maxJSON)
	}
	return text, err
}
