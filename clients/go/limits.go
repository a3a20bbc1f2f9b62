package keystile

import (
	"encoding/json"
	"time"
)

// Ratelimit is a rate limit of a key or an identity: so many requests per duration.
type Ratelimit struct {
	// Name is needed in lists. The limit of a key's own is named "default".
	Name  string `json:"name,omitempty"`
	Limit int64  `json:"limit"`
	// Duration is the length of a window, in whole milliseconds.
	Duration time.Duration `json:"-"`
	// Async: Bool(false) makes the limit strict. Default: the node counts in memory.
	Async *bool `json:"async,omitempty"`
	// AutoApply is for a limit of an identity. Bool(false): it applies only to verifications that name it. Default: to every one.
	AutoApply *bool `json:"autoApply,omitempty"`
	// Notify: Bool(true) has the event limit.reached tell of the first refusal in each window, which is a minute or longer.
	Notify *bool `json:"notify,omitempty"`
	// Used is what has passed in the running window. Only GetKey and GetIdentity say it.
	Used *int64 `json:"used,omitempty"`
	// Reset is when the running window ends. Only GetKey and GetIdentity say it.
	Reset *Time `json:"reset,omitempty"`
}

// RequestedLimit is a limit that a verification counts.
type RequestedLimit struct {
	// Name is a limit of the key or its identity, or with Limit and Duration one of this request.
	Name string `json:"name"`
	// Cost: Int(0) only asks whether the limit is kept. Default: 1.
	Cost     *int64        `json:"cost,omitempty"`
	Limit    int64         `json:"limit,omitempty"`
	Duration time.Duration `json:"-"`
	Async    *bool         `json:"async,omitempty"`
}

// The service writes durations in milliseconds. These fields stand beside those of the struct.
type wireDuration struct {
	Milliseconds int64 `json:"duration,omitempty"`
}

type plainRatelimit Ratelimit

type wireRatelimit struct {
	plainRatelimit
	wireDuration
}

// MarshalJSON writes the duration in milliseconds.
func (r Ratelimit) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireRatelimit{plainRatelimit(r), wireDuration{r.Duration.Milliseconds()}})
}

// UnmarshalJSON reads the duration in milliseconds.
func (r *Ratelimit) UnmarshalJSON(text []byte) error {
	var wire wireRatelimit
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*r = Ratelimit(wire.plainRatelimit)
	r.Duration = time.Duration(wire.Milliseconds) * time.Millisecond
	return nil
}

type plainRequestedLimit RequestedLimit

// MarshalJSON writes the duration in milliseconds.
func (r RequestedLimit) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainRequestedLimit
		wireDuration
	}{plainRequestedLimit(r), wireDuration{r.Duration.Milliseconds()}})
}
