package keystile

import (
	"context"
	"iter"
)

// CreatedIdentity has the id of a new identity.
type CreatedIdentity struct {
	IdentityID string `json:"identityId"`
}

func (i *CreatedIdentity) isComplete() bool { return i.IdentityID != "" }

func (i *Identity) isComplete() bool { return i.ID != "" }

// GetIdentityRequest names an identity by one of its two ids.
type GetIdentityRequest struct {
	IdentityID string `json:"identityId,omitempty"`
	ExternalID string `json:"externalId,omitempty"`
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
