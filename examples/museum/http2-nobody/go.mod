module example.com/museum/http2-nobody

go 1.26

require golang.org/x/net v0.0.0-20220412020605-290c469a71a5

require golang.org/x/text v0.3.7 // indirect
