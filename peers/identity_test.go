package peers

import (
	"slices"
	"strings"
	"testing"
)

func TestIdentities(t *testing.T) {
	for _, test := range []struct {
		user, group string
		want        Identity
	}{
		{"", "", Identity{}},
		{"root", "", Identity{Home: "/root"}},
		{"", "0", Identity{Home: "/root"}},
		{"", "12345", Identity{GID: 12345, Home: "/root"}},
		{"54321", "12345", Identity{UID: 54321, GID: 12345, Home: "/"}},
		{"0", "", Identity{Home: "/root"}},
	} {
		got, err := (Peer{User: test.user, Group: test.group}).Identity()
		same := got.UID == test.want.UID && got.GID == test.want.GID && got.Home == test.want.Home
		if err != nil || !same || !slices.Equal(got.Groups, test.want.Groups) {
			t.Errorf("%q, %q: %+v, %v; want %+v", test.user, test.group, got, err, test.want)
		}
		if isRoot := test.want.UID == 0 && test.want.GID == 0; got.IsRoot() != isRoot {
			t.Errorf("%q, %q: it is root is %t", test.user, test.group, got.IsRoot())
		}
	}
	for _, test := range []struct{ user, group, want string }{
		{"no-such-user", "", `this machine has no user "no-such-user"`},
		{"54321", "", "no user with the number 54321"},
		{"root", "no-such-group", `no group "no-such-group"`},
		{"root", "4294967295", `"4294967295" is not the number of a group`},
		{"99999999999", "1", `"99999999999" is not the number of a user`},
	} {
		_, err := (Peer{User: test.user, Group: test.group}).Identity()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q, %q: %v, want %s", test.user, test.group, err, test.want)
		}
	}
}
