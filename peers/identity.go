package peers

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/peers/image"
)

// Identity is what a peer runs as. The zero value is root in the group root alone.
type Identity struct {
	UID, GID uint32
	Groups   []uint32 // supplementary ones, ascending
	Home     string
}

// IsRoot reports whether it is what peers run as that say nothing else.
func (i Identity) IsRoot() bool { return i.UID == 0 && i.GID == 0 && len(i.Groups) == 0 }

// Identity looks up what the peer runs as. This machine's lists of users and groups are also those
// of the peers. A number that is not in the list of users is allowed only together with a group.
// The user root has no supplementary groups. The error says which list lacks what, since that is
// another one on each machine.
func (p Peer) Identity() (who Identity, err error) {
	if p.User == "" && p.Group == "" {
		return who, nil
	}
	u, err := p.lookUpUser()
	if err != nil {
		return who, err
	}
	if who.UID, err = number("user", u.Uid); err != nil {
		return who, err
	}
	who.Home = u.HomeDir
	if p.Group != "" {
		who.GID, err = lookUpGroup(p.Group)
		return who, err
	}
	if who.GID, err = number("group", u.Gid); err != nil || who.UID == 0 {
		return who, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return who, fmt.Errorf("look up the groups of the user %s: %w", u.Username, err)
	}
	for _, text := range groups {
		g, err := number("group", text)
		if err != nil {
			return who, err
		}
		who.Groups = append(who.Groups, g)
	}
	// The order of the lists of the machine does not matter.
	slices.Sort(who.Groups)
	return who, nil
}

// lookUpUser finds the user in this machine's list. A number that is not on the list stands for a
// user without a home, if a group is given.
func (p Peer) lookUpUser() (*user.User, error) {
	name := p.User
	if name == "" {
		return &user.User{Username: "root", Uid: "0", Gid: "0", HomeDir: "/root"}, nil
	}
	if strings.Trim(name, "0123456789") != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("this machine has no user %.64q (see /etc/passwd): install the server's "+
				"package, which makes it, or name another user", name)
		}
		return u, nil
	}
	u, err := user.LookupId(name)
	switch {
	case err == nil:
		return u, nil
	case p.Group == "":
		return nil, fmt.Errorf("this machine has no user with the number %.64s (see /etc/passwd): "+
			"give a group, too", name)
	}
	return &user.User{Username: name, Uid: name, HomeDir: "/"}, nil
}

// lookUpGroup finds the number of a group in this machine's list. Any number is a group.
func lookUpGroup(name string) (uint32, error) {
	if strings.Trim(name, "0123456789") == "" {
		return number("group", name)
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("this machine has no group %.64q (see /etc/group): name one that it has", name)
	}
	return number("group", g.Gid)
}

// number reads the number of a user or a group; the greatest one stands for none. The kernel takes
// that one for "leave it as it is".
func number(what, text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && n == 1<<32-1 {
		err = errors.New("it stands for none: give another one")
	}
	if err != nil {
		return 0, fmt.Errorf("%.64q is not the number of a %s: give one from 0 to 4294967294", text, what)
	}
	return uint32(n), nil
}

// In returns a peer from an image with its user and its group as numbers, which the lists of the
// image tell, and its home.
func (p Peer) In(tree image.Tree) (Peer, error) {
	if p.User == "" && p.Group == "" {
		return p, nil
	}
	uid, gid, home, err := tree.LookUp(p.User, p.Group)
	if err != nil {
		return p, err
	}
	p.User, p.Group = strconv.FormatUint(uint64(uid), 10), strconv.FormatUint(uint64(gid), 10)
	if !slices.ContainsFunc(p.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") }) {
		p.Env = append(slices.Clone(p.Env), "HOME="+home)
	}
	return p, nil
}
