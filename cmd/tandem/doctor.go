package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/scripts"
	"github.com/tandem-mc/tandem/sut"
)

func doctorCommand() *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use:   "doctor [PROFILE...]",
		Short: "Say what this machine lacks, for the profiles of peers that are named, too, and how to get it",
		RunE: func(c *cobra.Command, names []string) error {
			profiles, err := profilesOf(names)
			if err != nil {
				return err
			}
			if fix {
				if err := runSetup(c, profiles); err != nil {
					return err
				}
			}
			findings := append(diagnoseGo(c), ckptd.Probe(c.Context(), "")...)
			for _, p := range profiles {
				findings = append(findings, findingOf(p))
			}
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

func profilesOf(names []string) (all []peers.Profile, err error) {
	for _, name := range names {
		p, err := peers.FindProfile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
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

// runSetup runs the scripts that this binary carries, for the profiles, too.
func runSetup(c *cobra.Command, profiles []peers.Profile) error {
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
	arguments := []string{filepath.Join(dir, "setup.sh")}
	for _, p := range profiles {
		if p.Package != "" {
			arguments = append(arguments, p.Package)
		}
	}
	cmd := exec.CommandContext(c.Context(), "sh", arguments...)
	cmd.Stdout, cmd.Stderr = c.ErrOrStderr(), c.ErrOrStderr()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("setting this machine up: %w; what failed is said above", err)
	}
	return nil
}
