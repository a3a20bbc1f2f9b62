package keystile

import "context"

// API is a group of keys that belong to one of your services.
type API struct {
	APIID string `json:"apiId"`
	Name  string `json:"name"`
}

func (a *API) isComplete() bool { return a.APIID != "" }

// CreateAPI makes an api.
func (c *Client) CreateAPI(ctx context.Context, name string) (API, error) {
	return send[API](ctx, c, call{path: "/v1/apis.createApi", body: map[string]string{"name": name}})
}

// send sends a call and reads its answer.
func send[A any](ctx context.Context, c *Client, sent call) (A, error) {
	var got A
	if err := c.callWith(ctx, sent, &got); err != nil {
		var none A
		return none, err
	}
	return got, nil
}
