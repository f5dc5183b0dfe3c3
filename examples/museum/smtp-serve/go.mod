module example.com/museum/smtp-serve

go 1.26

require github.com/emersion/go-smtp v0.25.1

require github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6 // indirect
