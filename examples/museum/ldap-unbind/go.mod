module example.com/museum/ldap-unbind

go 1.26

require github.com/go-ldap/ldap/v3 v3.4.13

require (
	github.com/Azure/go-ntlmssp v0.1.0 // indirect
	github.com/go-asn1-ber/asn1-ber v1.5.8-0.20250403174932-29230038a667 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/crypto v0.48.0 // indirect
)
