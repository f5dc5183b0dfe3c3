// The calls into ThreadSanitizer that were here are calls of Go functions now:
// see race.go.
