package main

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
)

// newLog makes the diagnostic log: warnings, or everything. Nothing is sampled.
func newLog(verbose bool) *zap.Logger {
	config := zap.NewDevelopmentConfig()
	config.Sampling = nil
	config.DisableStacktrace = true
	config.DisableCaller = true
	if !verbose {
		config.Level = zap.NewAtomicLevelAt(zapcore.WarnLevel)
	}
	log, err := config.Build()
	if err != nil {
		return zap.NewNop()
	}
	return log
}

// logWriter logs what is written to it, line by line.
type logWriter struct{ log *zap.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		w.log.Debug(string(bytes.TrimRight(line, "\n")))
	}
	return len(p), nil
}

// progress tells how far a check is, in plain lines.
type progress struct {
	out    io.Writer
	bounds configs.Bounds
}

func (p *progress) say(format string, a ...any) {
	fmt.Fprintf(p.out, "tandem: "+format+"\n", a...)
}

func (p *progress) tell(v explore.Verdict, c check.Counts) {
	seconds := max(c.Elapsed.Seconds(), 1e-3)
	left := max(p.bounds.Time-c.Elapsed, 0).Round(time.Second)
	p.say("%.0f s: %d executions (%.0f/s), %d transitions, %d cache hits, %d misses, %d checkpoints, %d restores; at most %v left",
		seconds, v.Executions, float64(v.Executions)/seconds, v.Transitions, c.Hits, c.Misses, c.Checkpoints, c.Restores, left)
}
