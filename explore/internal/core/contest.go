package core

// Contest finds the objects that several goroutines access and one of them changes. Objects without
// an ID are never among them.
type Contest struct {
	uses map[ObjectID]use
}

// use is how an object was accessed: by whom first, whether by others, too, and whether changed.
type use struct {
	by              GoroutineID
	shared, changed bool
}

// Add notes an access.
func (c *Contest) Add(g GoroutineID, o ObjectID, changes bool) {
	if o == 0 {
		return
	}
	if c.uses == nil {
		c.uses = map[ObjectID]use{}
	}
	u, known := c.uses[o]
	if !known {
		u.by = g
	}
	u.shared, u.changed = u.shared || u.by != g, u.changed || changes
	c.uses[o] = u
}

// Contested reports whether an object is among them, by what was noted.
func (c *Contest) Contested(o ObjectID) bool { return c.uses[o].shared && c.uses[o].changed }
