// Command memberlist-meta lists the members of a group while one of them says something new.
package main

import (
	"fmt"
	"io"
	"log"
	"time"

	"github.com/hashicorp/memberlist"
)

func main() {
	one, two := member("one", 7946), member("two", 7947)
	if _, err := two.Join([]string{"127.0.0.1:7946"}); err != nil {
		log.Fatal(err)
	}
	go two.UpdateNode(time.Second)
	for _, node := range one.Members() {
		fmt.Printf("%s %q\n", node.Name, node.Meta)
	}
}

// member is a node of the group.
func member(name string, port int) *memberlist.Memberlist {
	config := memberlist.DefaultLocalConfig()
	config.Name = name
	config.BindAddr, config.BindPort = "127.0.0.1", port
	config.AdvertiseAddr, config.AdvertisePort = "127.0.0.1", port
	config.Delegate = &role{name: name}
	config.LogOutput = io.Discard
	list, err := memberlist.Create(config)
	if err != nil {
		log.Fatal(err)
	}
	return list
}

// role says what a node is.
type role struct {
	name  string
	asked int
}

func (r *role) NodeMeta(int) []byte {
	r.asked++
	return fmt.Append(nil, r.name, r.asked)
}

func (*role) NotifyMsg([]byte)                {}
func (*role) GetBroadcasts(int, int) [][]byte { return nil }
func (*role) LocalState(bool) []byte          { return nil }
func (*role) MergeRemoteState([]byte, bool)   {}
