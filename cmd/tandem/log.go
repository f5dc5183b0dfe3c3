package main

import (
	"bytes"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLog makes the diagnostic log: warnings, or everything. Nothing is sampled, since a message
// that is missing leads astray. It goes to standard error, as the progress does; so with it there
// is no live view.
func newLog(verbose bool) *zap.Logger {
	// Its lines are for people: a time, a level and a text.
	config := zap.NewDevelopmentConfig()
	config.Sampling = nil
	config.DisableStacktrace = true
	// Where in Tandem a line was written says nothing to a user.
	config.DisableCaller = true
	if !verbose {
		config.Level = zap.NewAtomicLevelAt(zapcore.WarnLevel)
	}
	// Only writing to standard error can fail, and then the error cannot be reported either.
	log, err := config.Build()
	if err != nil {
		return zap.NewNop()
	}
	return log
}

// logWriter logs what is written to it, line by line. The daemon and CRIU write whole lines, so
// none is cut in two.
type logWriter struct{ log *zap.Logger }

// Write logs each line by itself. It has no errors: a check does not fail for its log.
func (w logWriter) Write(p []byte) (int, error) {
	// CRIU writes many lines at once.
	for line := range bytes.Lines(p) {
		w.log.Debug(string(bytes.TrimRight(line, "\n")))
	}
	return len(p), nil
}
