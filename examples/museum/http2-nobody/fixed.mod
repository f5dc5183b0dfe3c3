module example.com/museum/http2-nobody

go 1.26

require golang.org/x/net v0.0.0-20220425223048-2871e0cb64e4

require golang.org/x/text v0.3.7 // indirect
