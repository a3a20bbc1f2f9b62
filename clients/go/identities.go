package keystile

import (
	"context"
	"iter"
)

// CreateIdentityRequest describes a new identity. Its keys share its credits and limits.
type CreateIdentityRequest struct {
	// ExternalID is your own id of the user, customer or organisation.
	ExternalID string         `json:"externalId"`
	Name       string         `json:"name,omitempty"`
	Meta       map[string]any `json:"meta,omitempty"`
	// Enabled: Bool(false) makes all its keys answer DISABLED.
	Enabled *bool `json:"enabled,omitempty"`
	// MaxKeys is how many keys it may have. Default: any number.
	MaxKeys    *int64      `json:"maxKeys,omitempty"`
	Ratelimits []Ratelimit `json:"ratelimits,omitempty"`
	Remaining  *int64      `json:"remaining,omitempty"`
	Refill     *Refill     `json:"refill,omitempty"`
	// Metered counts what is spent exactly, without a balance.
	Metered bool `json:"metered,omitempty"`
	// Alerts says when events tell in advance.
	Alerts *Alerts `json:"alerts,omitempty"`
}

// CreatedIdentity has the id of a new identity.
type CreatedIdentity struct {
	IdentityID string `json:"identityId"`
}

func (i *CreatedIdentity) isComplete() bool { return i.IdentityID != "" }

// Identity is an identity as the service shows it.
type Identity struct {
	ID         string         `json:"id"`
	ExternalID string         `json:"externalId"`
	Name       string         `json:"name"`
	Meta       map[string]any `json:"meta"`
	Enabled    bool           `json:"enabled"`
	MaxKeys    *int64         `json:"maxKeys"`
	Ratelimits []Ratelimit    `json:"ratelimits"`
	Remaining  *int64         `json:"remaining"`
	Refill     *RefillState   `json:"refill"`
	Metered    bool           `json:"metered"`
	Alerts     *Alerts        `json:"alerts"`
	// Keys is how many keys it has. Only GetIdentity says it.
	Keys *int64 `json:"keys"`
}

func (i *Identity) isComplete() bool { return i.ID != "" }

// GetIdentityRequest names an identity by one of its two ids.
type GetIdentityRequest struct {
	IdentityID string `json:"identityId,omitempty"`
	ExternalID string `json:"externalId,omitempty"`
}

// UpdateIdentityRequest names an identity by one of its two ids, and changes the fields that are Set or Clear.
type UpdateIdentityRequest struct {
	IdentityID string                  `json:"identityId,omitempty"`
	ExternalID string                  `json:"externalId,omitempty"`
	Name       *Change[string]         `json:"name,omitempty"`
	Enabled    *bool                   `json:"enabled,omitempty"`
	MaxKeys    *Change[int64]          `json:"maxKeys,omitempty"`
	Meta       *Change[map[string]any] `json:"meta,omitempty"`
	Ratelimits *Change[[]Ratelimit]    `json:"ratelimits,omitempty"`
	Remaining  *Change[int64]          `json:"remaining,omitempty"`
	Refill     *Change[Refill]         `json:"refill,omitempty"`
	Metered    *bool                   `json:"metered,omitempty"`
	Alerts     *Change[Alerts]         `json:"alerts,omitempty"`
}

// ListIdentitiesRequest says how to list identities.
type ListIdentitiesRequest struct {
	// PageSize is how many identities one call gets. Default: the service decides.
	PageSize int `json:"limit,omitempty"`
	// Search finds identities by external id, name and metadata.
	Search string `json:"search,omitempty"`
}

// DeleteIdentityRequest names an identity by one of its two ids.
type DeleteIdentityRequest struct {
	IdentityID string `json:"identityId,omitempty"`
	ExternalID string `json:"externalId,omitempty"`
	// Keys says what becomes of its keys: "disable", "delete" or "detach". Without it, an identity that has keys is not deleted.
	Keys string `json:"keys,omitempty"`
}

// CreateIdentity makes an identity.
func (c *Client) CreateIdentity(ctx context.Context, request CreateIdentityRequest) (CreatedIdentity, error) {
	return send[CreatedIdentity](ctx, c, call{path: "/v1/identities.createIdentity", body: request})
}

// GetIdentity reads an identity.
func (c *Client) GetIdentity(ctx context.Context, request GetIdentityRequest) (Identity, error) {
	return send[Identity](ctx, c, call{path: "/v1/identities.getIdentity", body: request, isRepeatable: true})
}

// UpdateIdentity changes an identity and returns its new state.
func (c *Client) UpdateIdentity(ctx context.Context, request UpdateIdentityRequest) (Identity, error) {
	return send[Identity](ctx, c, call{path: "/v1/identities.updateIdentity", body: request})
}

// DeleteIdentity deletes an identity with its credits and limits.
func (c *Client) DeleteIdentity(ctx context.Context, request DeleteIdentityRequest) error {
	return c.callWith(ctx, call{path: "/v1/identities.deleteIdentity", body: request}, nil)
}

// ListIdentities goes through all identities, page by page. An error ends it.
func (c *Client) ListIdentities(ctx context.Context, request ListIdentitiesRequest) iter.Seq2[Identity, error] {
	return allItems[Identity](ctx, c, list{path: "/v1/identities.listIdentities", field: "identities", page: func(cursor string) any {
		return struct {
			ListIdentitiesRequest
			cursorBody
		}{request, cursorBody{cursor}}
	}})
}
