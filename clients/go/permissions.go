package keystile

import "encoding/json"

// PermissionQuery is a permission, or several of which all or one must be held. Make one with Permission, And or Or. A
// query without any permission is refused by the service, so an empty name never opens a route.
type PermissionQuery struct {
	permission string
	// operator is "and", "or", or empty for a single permission.
	operator string
	parts    []*PermissionQuery
}

// Permission asks for one permission.
func Permission(name string) *PermissionQuery { return &PermissionQuery{permission: name} }

// And asks for all of the parts.
func And(parts ...*PermissionQuery) *PermissionQuery {
	return &PermissionQuery{operator: "and", parts: parts}
}

// Or asks for one of the parts.
func Or(parts ...*PermissionQuery) *PermissionQuery {
	return &PermissionQuery{operator: "or", parts: parts}
}

// MarshalJSON writes the query as the service reads it.
func (q *PermissionQuery) MarshalJSON() ([]byte, error) {
	// The service skips an empty part. Here it is a mistake of the caller, and must not make the query weaker.
	if q == nil || q.operator == "" {
		return json.Marshal(q.name())
	}
	parts := make([]json.RawMessage, len(q.parts))
	for index, part := range q.parts {
		text, err := part.MarshalJSON()
		if err != nil {
			return nil, err
		}
		parts[index] = text
	}
	return json.Marshal(map[string][]json.RawMessage{q.operator: parts})
}

func (q *PermissionQuery) name() string {
	if q == nil {
		return ""
	}
	return q.permission
}
