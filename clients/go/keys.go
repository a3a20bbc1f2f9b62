package keystile

import (
	"context"
	"iter"
	"time"
)

// CreateKeyRequest describes a new key. Only APIID is needed.
type CreateKeyRequest struct {
	APIID string `json:"apiId"`
	// Prefix is the visible beginning of the key.
	Prefix     string `json:"prefix,omitempty"`
	ByteLength int64  `json:"byteLength,omitempty"`
	Name       string `json:"name,omitempty"`
	// ExternalID is the owner of the key, by your own id.
	ExternalID string `json:"externalId,omitempty"`
	// MustExist: ExternalID is that of an identity. Otherwise the call fails with NOT_FOUND, and nothing is created.
	MustExist   bool           `json:"mustExist,omitempty"`
	Meta        map[string]any `json:"meta,omitempty"`
	Roles       []string       `json:"roles,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Expires     *Time          `json:"expires,omitempty"`
	// Remaining is the credits. Default: a key without credits passes without a count.
	Remaining *int64  `json:"remaining,omitempty"`
	Refill    *Refill `json:"refill,omitempty"`
	// Metered counts what is spent exactly, without a balance.
	Metered bool `json:"metered,omitempty"`
	// Alerts says when events tell in advance.
	Alerts *Alerts `json:"alerts,omitempty"`
	// Ratelimit is the limit named "default". Ratelimits adds more, by name.
	Ratelimit   *Ratelimit  `json:"ratelimit,omitempty"`
	Ratelimits  []Ratelimit `json:"ratelimits,omitempty"`
	IPAllowlist []string    `json:"ipAllowlist,omitempty"`
	Enabled     *bool       `json:"enabled,omitempty"`
	Environment string      `json:"environment,omitempty"`
}

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

// Key is a key as the service shows it, without its secret.
type Key struct {
	ID string `json:"id"`
	// Start is the beginning of the secret.
	Start       string         `json:"start"`
	APIID       string         `json:"apiId"`
	WorkspaceID string         `json:"workspaceId"`
	Name        string         `json:"name"`
	OwnerID     string         `json:"ownerId"`
	Meta        map[string]any `json:"meta"`
	CreatedAt   Time           `json:"createdAt"`
	UpdatedAt   Time           `json:"updatedAt"`
	Expires     Time           `json:"expires"`
	LastUsedAt  Time           `json:"lastUsedAt"`
	Remaining   *int64         `json:"remaining"`
	Refill      *RefillState   `json:"refill"`
	Metered     bool           `json:"metered"`
	Alerts      *Alerts        `json:"alerts"`
	Ratelimit   *Ratelimit     `json:"ratelimit"`
	Ratelimits  []Ratelimit    `json:"ratelimits"`
	Roles       []string       `json:"roles"`
	Permissions []string       `json:"permissions"`
	Enabled     bool           `json:"enabled"`
	Environment string         `json:"environment"`
	IPAllowlist []string       `json:"ipAllowlist"`
	Identity    *IdentityRef   `json:"identity"`
}

func (k *Key) isComplete() bool { return k.ID != "" }

// UpdateKeyRequest changes the fields that are Set or Clear.
type UpdateKeyRequest struct {
	KeyID       string                  `json:"keyId"`
	Name        *Change[string]         `json:"name,omitempty"`
	ExternalID  *Change[string]         `json:"externalId,omitempty"`
	MustExist   bool                    `json:"mustExist,omitempty"`
	Meta        *Change[map[string]any] `json:"meta,omitempty"`
	Roles       *Change[[]Reference]    `json:"roles,omitempty"`
	Permissions *Change[[]Reference]    `json:"permissions,omitempty"`
	Expires     *Change[Time]           `json:"expires,omitempty"`
	Remaining   *Change[int64]          `json:"remaining,omitempty"`
	Refill      *Change[Refill]         `json:"refill,omitempty"`
	Metered     *bool                   `json:"metered,omitempty"`
	Alerts      *Change[Alerts]         `json:"alerts,omitempty"`
	Ratelimit   *Change[Ratelimit]      `json:"ratelimit,omitempty"`
	Ratelimits  *Change[[]Ratelimit]    `json:"ratelimits,omitempty"`
	IPAllowlist *Change[[]string]       `json:"ipAllowlist,omitempty"`
	Enabled     *bool                   `json:"enabled,omitempty"`
	Environment *Change[string]         `json:"environment,omitempty"`
}

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
