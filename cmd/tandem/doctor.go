package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/scripts"
	"github.com/tandem-mc/tandem/sut"
)

func doctorCommand() *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine lacks, and how to get it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if fix {
				if err := runSetup(c); err != nil {
					return err
				}
			}
			findings := append(diagnoseGo(c), ckptd.Probe(c.Context(), "")...)
			lacking := 0
			for _, f := range findings {
				mark := "ok  "
				if !f.OK {
					mark = "LACK"
					lacking++
				}
				fmt.Fprintf(c.OutOrStdout(), "%s %-22s %s\n", mark, f.Name, f.Detail)
				if f.Fix != "" {
					fmt.Fprintf(c.OutOrStdout(), "     %-22s to do: %s\n", "", f.Fix)
				}
			}
			if lacking > 0 {
				return fmt.Errorf("this machine lacks %d of %d things; `tandem doctor --fix`, as root, installs what can be installed", lacking, len(findings))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "install what can be installed (Debian, as root)")
	return c
}

// diagnoseGo looks for a Go distribution that can be patched.
func diagnoseGo(c *cobra.Command) []ckptd.Finding {
	f := ckptd.Finding{Name: "Go"}
	cache, err := os.UserCacheDir()
	if err == nil {
		var t *sut.Toolchain
		if t, err = sut.NewToolchain(c.Context(), ".", filepath.Join(cache, "tandem")); err == nil {
			f.OK, f.Detail = true, t.Version+", patched in "+t.Root
		}
	}
	if err != nil {
		f.Detail, f.Fix = err.Error(), "install a supported release of Go and put it in PATH"
	}
	return []ckptd.Finding{f}
}

// runSetup runs the scripts that this binary carries.
func runSetup(c *cobra.Command) error {
	if os.Geteuid() != 0 {
		return errors.New("installing needs root: run `tandem doctor --fix` as root")
	}
	dir, err := os.MkdirTemp("", "tandem-setup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, scripts.Files); err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), "sh", filepath.Join(dir, "setup.sh"))
	cmd.Stdout, cmd.Stderr = c.ErrOrStderr(), c.ErrOrStderr()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("setting this machine up: %w; what failed is said above", err)
	}
	return nil
}
