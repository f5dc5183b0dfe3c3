package distribute

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/advice"
)

// TestRefusedServers: what is no URL of a NATS server is refused before anything is dialled, with
// what can be given, and without passwords.
func TestRefusedServers(t *testing.T) {
	for url, want := range map[string]string{
		"nats://127.0.0.1:4222":                    "",
		"nats://user:secret@host, tls://host:4222": "",
		"wss://host":                      "",
		"host:4222":                       "",
		"embeded":                         "embeded is no server: give nats://HOST:PORT",
		"embeddedx":                       "embeddedx is no server",
		"secret@host":                     "host is no server: give nats://HOST:PORT",
		"":                                " is no server",
		"http://user:secret@127.0.0.1:80": "http://127.0.0.1:80 is no NATS server: give a URL",
		"nats://127.0.0.1:4222,http://127.0.0.1:80": "http://127.0.0.1:80 is no NATS server",
	} {
		err := refusal(url)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", url, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) || advice.General(err) != "" {
			t.Errorf("%q: %v, want %q and advice", url, err, want)
		}
		_, err = StatusOf(t.Context(), Options{URL: url})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the status of %q: %v", url, err)
		}
	}
	for url, want := range map[string]bool{
		"embedded": true, "embedded=:4222": true, "embeddedx": false, "": false,
	} {
		if isEmbedded(url) != want {
			t.Errorf("%q is embedded: %t", url, !want)
		}
	}
}
