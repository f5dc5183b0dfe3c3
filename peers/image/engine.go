package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A local engine is asked by its command, which is the same for several of them.

// engines are the commands, in the order in which they are looked for.
var engines = []string{"docker", "podman"}

const (
	// askTimeout is how long an engine may take to say what it has, and saveTimeout to save it.
	askTimeout  = time.Minute
	saveTimeout = 30 * time.Minute
)

// errNoEngine: none can be asked.
var errNoEngine = fmt.Errorf("there is neither %s in the path: install one, or name an archive that one has "+
	"written (docker save -o web.tar NAME)", strings.Join(engines, " nor "))

// tryEngines has each engine do something, until one can. The error is that of all.
func tryEngines(do func(file string) error) error {
	var all []error
	// One that does not run, or does not have the image, says so; the next one may have it.
	for _, name := range engines {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err = do(file); err == nil {
			return nil
		}
		all = append(all, err)
	}
	if len(all) == 0 {
		return errNoEngine
	}
	return errors.Join(all...)
}

// describeEngine asks an engine for an image.
func describeEngine(ctx context.Context, name string) (d Description, err error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return d, fmt.Errorf("%s%.80s: there is no name of an image: write one such as %sredis:7", Engine,
			name,
			Engine)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// A name that is also that of a container, a network or a volume is not meant.
	var text bytes.Buffer
	err = tryEngines(func(file string) error {
		text.Reset()
		return ask(ctx, file, &text, maxJSON, "image", "inspect", name)
	})
	if err != nil {
		return d, fmt.Errorf("%s%.80s: %w", Engine, name, err)
	}
	var all []struct {
		ID           string `json:"Id"`
		Architecture string
		OS           string `json:"Os"`
		Config       *runConfig
	}
	if err := json.Unmarshal(text.Bytes(), &all); err != nil || len(all) != 1 {
		return d, fmt.Errorf("%s%.80s: the engine does not describe one image (%w): save it, and name the "+
			"archive", Engine, name, errors.Join(err, fmt.Errorf("but %d", len(all))))
	}
	// What the engine tells of an image is what its configuration says, by the same names.
	c := config{Architecture: all[0].Architecture, OS: all[0].OS}
	if all[0].Config != nil {
		c.Config = *all[0].Config
	}
	if d, err = c.describe(); err != nil {
		return d, fmt.Errorf("%s%.80s: %w", Engine, name, err)
	}
	d.Reference = Reference{Source: Engine + name, Digest: all[0].ID}
	// Podman leaves it out.
	// The digest becomes the name of a directory, so it is checked.
	if !strings.Contains(d.Digest, ":") {
		d.Digest = "sha256:" + d.Digest
	}
	if _, err := blobName(d.Digest); err != nil {
		return d, fmt.Errorf("%s%.80s: %w", Engine, name, err)
	}
	return d, nil
}

// save has an engine write an image to a file.
func save(ctx context.Context, digest, file string) error {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	// It is saved by its digest and not by its name, which may stand for another one meanwhile.
	return tryEngines(func(engine string) error {
		// What another engine has begun to write there goes.
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		err = ask(ctx, engine, f, maxBytes, "save", digest)
		return errors.Join(err, f.Close())
	})
}

// ask runs a command of an engine. What it writes goes to a writer, up to a bound.
func ask(ctx context.Context, file string, to io.Writer, most int64, arguments ...string) error {
	// So it can be ended before its time is over.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, arguments...)
	var problem bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &problem, time.Second
	// The end of what it writes to standard error says what is wrong.
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	n, copied := io.Copy(to, io.LimitReader(output, most+1))
	if n > most || copied != nil {
		// It may write for ever.
		cancel()
	}
	err = cmd.Wait()
	switch {
	case n > most:
		return fmt.Errorf("%s %s: %w", file, strings.Join(arguments, " "), errTooLarge)
	case copied != nil:
		return copied
	case err != nil:
		const shown = 1 << 10
		text := bytes.TrimSpace(problem.Bytes())
		return fmt.Errorf("%s %s: %w: %s; see whether the engine runs and has the image", file,
			strings.Join(arguments, " "), err, text[max(0, len(text)-shown):])
	}
	return nil
}
