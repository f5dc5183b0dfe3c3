module example.com/museum/http2-trailers

go 1.26.0

require golang.org/x/net v0.0.0-20180218175443-cbe0f9307d01

require golang.org/x/text v0.44.0 // indirect
