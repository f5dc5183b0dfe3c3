module example.com/asynctimers

// The timers of this release are the subject: below 1.23, a ticker runs whether or not anybody can
// see it.
go 1.22
