package keystile

import (
	"encoding/json"
	"strconv"
	"time"
)

// Time is an instant that the service writes in Unix milliseconds. Zero means that there is none.
type Time struct{ time.Time }

// At is the time t, for the fields of requests.
func At(t time.Time) *Time { return &Time{t} }

// MarshalJSON writes Unix milliseconds, or null for zero.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, t.UnixMilli(), 10), nil
}

// UnmarshalJSON reads Unix milliseconds.
func (t *Time) UnmarshalJSON(text []byte) error {
	var milliseconds *int64
	if err := json.Unmarshal(text, &milliseconds); err != nil {
		return err
	}
	t.Time = time.Time{}
	if milliseconds != nil {
		t.Time = time.UnixMilli(*milliseconds)
	}
	return nil
}

// Int is a number for an optional field, where 0 is not the same as none.
func Int(n int64) *int64 { return &n }

// Bool is a truth value for an optional field, where false is not the same as none.
func Bool(b bool) *bool { return &b }

// Change is a new value for a field of an update. A field without a Change stays as it is.
type Change[T any] struct{ value *T }

// Set changes a field to a value.
func Set[T any](value T) *Change[T] { return &Change[T]{&value} }

// Clear empties a field.
func Clear[T any]() *Change[T] { return &Change[T]{} }

// MarshalJSON writes the value, or null for an empty field.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }
