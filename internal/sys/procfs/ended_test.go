package procfs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestDeadChild(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := false
	defer func() {
		if !waited {
			cmd.Wait()
		}
	}()
	if dead := DeadChild(os.Getpid()); dead != "" {
		t.Errorf("%s is said to be dead", dead)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); !strings.Contains(DeadChild(os.Getpid()), "sleep"); {
		if time.Now().After(limit) {
			t.Fatal("a killed child is not seen to be dead")
		}
	}
	cmd.Wait()
	waited = true
	if dead := DeadChild(os.Getpid()); dead != "" {
		t.Errorf("%s is said to be dead after it was waited for", dead)
	}
}
