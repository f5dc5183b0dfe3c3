// Package html writes a counterexample as a page for a browser: the failure, the schedule with a
// lane for each goroutine and peer, and the source. The page is one file that needs nothing else.
package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/html/internal/page"
	"github.com/tandem-mc/tandem/report/internal/words"
	"github.com/tandem-mc/tandem/report/text"
)

// assets are what a page is made of: the frame, the style, and the modules of the script.
//
//go:embed assets
var assets embed.FS

// modules of the script, in their order. They share one scope.
var modules = []string{"data.js", "rows.js", "lanes.js", "detail.js", "view.js", "cache.js",
	"main.js"}

// frame escapes everything that a counterexample brings along.
var frame = template.Must(template.ParseFS(assets, "assets/page.html"))

// maxSize bounds the bytes of a page, but for its texts, which have bounds of their own.
const maxSize = 4_500_000

// shownPage is what the frame shows. Policy allows the page nothing but its own script and style:
// even if something of a counterexample became markup, it could not act.
type shownPage struct {
	Title, Program, Size, Shrunk string
	Policy                       string
	Style                        template.CSS
	Script                       template.JS
	Failure, Rest                []piece
	Data                         template.HTML // of package page, compressed, in base 64
}

// piece is a part of a text. If it has a step, it leads there.
type piece struct {
	Text string
	Step int
}

// Write writes the counterexample as one page that needs nothing else. The size of the page is at
// most about 5 MB: from a schedule that is too long, steps in the middle are left out, and
// that is said. The error is the writer's.
func Write(w io.Writer, c *report.Counterexample) error {
	var failure, rest strings.Builder // these have no errors
	text.WriteFailure(&failure, c)
	text.WriteSearch(&rest, c)
	shown := shownPage{
		Title:   strings.ToUpper(string(c.Run.Verdict)) + ": " + words.Printable(c.Failure.Headline()),
		Program: words.Printable(c.Run.Program()), Size: c.Size().String(),
		Failure: linked(failure.String(), len(c.Steps)), Rest: linked(rest.String(), len(c.Steps)),
		Style: template.CSS(asset("style.css")), Script: template.JS(script()),
	}
	if c.Shrunk != nil {
		shown.Shrunk = c.Shrunk.String()
	}
	// The hashes are of the texts between the tags, with every blank.
	shown.Policy = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; script-src %s; "+
		"style-src %s", hashOf(string(shown.Script)), hashOf(string(shown.Style)))
	shown.Data = template.HTML(data(c, keyed(shown.Failure)))
	var out bytes.Buffer
	if err := frame.ExecuteTemplate(&out, "page.html", shown); err != nil {
		return fmt.Errorf("writing the counterexample as HTML: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// data are those of the page, with as many steps as there is room for.
func data(c *report.Counterexample, key map[int]bool) string {
	// Each round leaves out half of what is left, so there are few.
	for most := len(c.Steps); ; most /= 2 {
		encoded := page.Of(c, most, key).Encode()
		if n := base64.StdEncoding.EncodedLen(len(encoded)); n <= maxSize || most == 0 {
			return base64.StdEncoding.EncodeToString(encoded)
		}
	}
}

// script is the script of the page.
func script() string {
	// What is said of strictness must be the first statement.
	text := "\"use strict\";\n"
	for _, name := range modules {
		text += asset(name)
	}
	return text
}

// asset is the text of an embedded file.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is built in
	}
	return string(text)
}

// hashOf names a script or style in a content security policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ofStep is how texts speak of steps. They count from 1.
var ofStep = regexp.MustCompile(`\bstep (\d{1,9})\b`)

// linked cuts a text into pieces, so that each mention of a step leads to it.
func linked(text string, steps int) (list []piece) {
	last := 0
	// The text between two links is a piece, too.
	for _, at := range ofStep.FindAllStringSubmatchIndex(text, -1) {
		number, err := strconv.Atoi(text[at[2]:at[3]])
		if err != nil || number < 1 || number > steps {
			continue
		}
		list = append(list, piece{Text: text[last:at[0]]}, piece{Text: text[at[0]:at[1]], Step: number})
		last = at[1]
	}
	return append(list, piece{Text: text[last:]})
}

// keyed are the steps that a text leads to, by index. They are not folded.
func keyed(list []piece) map[int]bool {
	// Texts count steps from 1, everything else from 0.
	key := map[int]bool{}
	for _, p := range list {
		if p.Step > 0 {
			key[p.Step-1] = true
		}
	}
	return key
}
