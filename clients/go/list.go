package keystile

import (
	"context"
	"encoding/json"
	"iter"
)

// list is an endpoint that answers in pages.
type list struct {
	path string
	// field of the answer that contains the items.
	field string
	// page is the body that asks for the page at a cursor.
	page func(cursor string) any
}

type cursorBody struct {
	Cursor string `json:"cursor,omitempty"`
}

// allItems asks for the next page when the last one is used up.
func allItems[T any](ctx context.Context, c *Client, l list) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for cursor := ""; ; {
			items, next, err := onePage[T](ctx, c, l, cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			// The last page has no cursor. An empty page with one, or the same one again, would never end.
			if next == "" || next == cursor || len(items) == 0 {
				return
			}
			cursor = next
		}
	}
}

func onePage[T any](ctx context.Context, c *Client, l list, cursor string) ([]T, string, error) {
	fields, err := send[map[string]json.RawMessage](ctx, c, call{path: l.path, body: l.page(cursor), isRepeatable: true})
	if err != nil {
		return nil, "", err
	}
	var items []T
	if json.Unmarshal(fields[l.field], &items) != nil || items == nil {
		return nil, "", notUnderstood(l.path)
	}
	var next string
	if text, isThere := fields["cursor"]; isThere && json.Unmarshal(text, &next) != nil {
		return nil, "", notUnderstood(l.path)
	}
	return items, next, nil
}
