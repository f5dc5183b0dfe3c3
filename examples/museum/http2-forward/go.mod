module example.com/museum/http2-forward

go 1.26

require golang.org/x/net v0.0.0-20220923203811-8be639271d50

require golang.org/x/text v0.3.7 // indirect
