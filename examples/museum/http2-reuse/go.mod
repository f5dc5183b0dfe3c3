module example.com/museum/http2-reuse

go 1.26.0

require golang.org/x/net v0.0.0-20170915142106-8351a756f30f

require golang.org/x/text v0.44.0 // indirect
