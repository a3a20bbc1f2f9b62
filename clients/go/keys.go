package keystile

import (
	"context"
	"iter"
	"time"
)

// CreatedKey is the only answer that contains the secret of a key.
type CreatedKey struct {
	KeyID string `json:"keyId"`
	// Key is the secret to give to your customer.
	Key string `json:"key"`
}

func (k *CreatedKey) isComplete() bool { return k.KeyID != "" && k.Key != "" }

type createdKeys struct {
	Keys []CreatedKey `json:"keys"`
}

func (k *createdKeys) isComplete() bool {
	for i := range k.Keys {
		if !k.Keys[i].isComplete() {
			return false
		}
	}
	return len(k.Keys) > 0
}

func (k *Key) isComplete() bool { return k.ID != "" }

// Reference names a role or a permission by its id, its slug (permissions only) or its name.
type Reference struct {
	ID   string `json:"id,omitempty"`
	Slug string `json:"slug,omitempty"`
	Name string `json:"name,omitempty"`
	// Create makes what does not exist under the name.
	Create bool `json:"create,omitempty"`
}

// UpdateRemainingRequest changes the credits of a key.
type UpdateRemainingRequest struct {
	KeyID string `json:"keyId"`
	// Op is "increment", "decrement" or "set".
	Op string `json:"op"`
	// Value: nil with "set" takes the count away, so that the key has no limit of credits.
	Value *int64 `json:"value"`
}

// DeleteKeyRequest names the key to delete.
type DeleteKeyRequest struct {
	KeyID string `json:"keyId"`
	// Permanent removes the record. Such a key cannot be restored.
	Permanent bool `json:"permanent,omitempty"`
}

// ListKeysRequest selects keys of an api.
type ListKeysRequest struct {
	APIID string `json:"apiId"`
	// ExternalID selects the keys of one owner.
	ExternalID string `json:"externalId,omitempty"`
	// Search finds keys by the beginning of their secret, or by words of their name and metadata.
	Search string `json:"search,omitempty"`
	// PageSize is how many keys one call gets. Default: the service decides.
	PageSize int `json:"limit,omitempty"`
}

// CreateKey makes a key. Its answer is the only one that contains the secret.
func (c *Client) CreateKey(ctx context.Context, request CreateKeyRequest) (CreatedKey, error) {
	return send[CreatedKey](ctx, c, call{path: "/v1/keys.createKey", body: request})
}

// CreateKeys makes up to 1000 keys, all of them or none, and returns them in the same order.
func (c *Client) CreateKeys(ctx context.Context, requests []CreateKeyRequest) ([]CreatedKey, error) {
	body := map[string]any{"keys": requests}
	made, err := send[createdKeys](ctx, c, call{path: "/v1/keys.createKeys", body: body})
	return made.Keys, err
}

// GetKey reads a key.
func (c *Client) GetKey(ctx context.Context, keyID string) (Key, error) {
	body := map[string]string{"keyId": keyID}
	return send[Key](ctx, c, call{path: "/v1/keys.getKey", body: body, isRepeatable: true})
}

// UpdateKey changes a key. After its answer the service uses the new state.
func (c *Client) UpdateKey(ctx context.Context, request UpdateKeyRequest) error {
	return c.callWith(ctx, call{path: "/v1/keys.updateKey", body: request}, nil)
}

// UpdateRemaining changes the credits of a key. It returns what is left, or nil for a key without a limit of credits.
func (c *Client) UpdateRemaining(ctx context.Context, request UpdateRemainingRequest) (*int64, error) {
	left, err := send[struct {
		Remaining *int64 `json:"remaining"`
	}](ctx, c, call{path: "/v1/keys.updateRemaining", body: request})
	return left.Remaining, err
}

// DeleteKey deletes a key. After its answer no verification finds the key.
func (c *Client) DeleteKey(ctx context.Context, request DeleteKeyRequest) error {
	return c.callWith(ctx, call{path: "/v1/keys.deleteKey", body: request}, nil)
}

// RotateKey gives a key a new secret. The old secret stays valid for the overlap: 0 ends it at once.
func (c *Client) RotateKey(ctx context.Context, keyID string, overlap time.Duration) (CreatedKey, error) {
	body := map[string]any{"keyId": keyID, "overlapMs": overlap.Milliseconds()}
	return send[CreatedKey](ctx, c, call{path: "/v1/keys.rotateKey", body: body})
}

// ListKeys goes through all keys that the request selects, page by page. An error ends it.
func (c *Client) ListKeys(ctx context.Context, request ListKeysRequest) iter.Seq2[Key, error] {
	return allItems[Key](ctx, c, list{path: "/v1/apis.listKeys", field: "keys", page: func(cursor string) any {
		return struct {
			ListKeysRequest
			cursorBody
		}{request, cursorBody{cursor}}
	}})
}
