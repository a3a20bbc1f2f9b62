/** The records that all examples of /openapi.json are about. */
export const EXAMPLE = {
  apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
  keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
  secret: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J',
  workspaceId: 'ws_1Jm8ZtXf9cVb2NmK4tYu7P',
  identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W',
  externalId: 'user_1234',
  permissionId: 'perm_1Jm8ZtZk5nSs7HkL9vUy4T',
  roleId: 'role_1Jm8Zta6oTt8JmM2wVz5Ux',
  planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X',
  rootKeyId: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R',
  rootSecret: 'root_4Wd4XbZe2RpVcT7uNqKs5F6hJg3M',
  namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R',
  overrideId: 'ovr_1Jm8ZtYk7pTt8HmN5wVz4X',
  eventId: 'evt_1Jm8ZtYm6qVv9KoP4xWz3Y',
  webhookId: 'wh_1Jm8ZtYn7rWw2LpQ5yXz4Z',
  webhookUrl: 'https://example.com/keystile',
  requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111',
  /** A midnight of UTC, and the next one. */
  midnight: 1783036800000,
  nextMidnight: 1783123200000,
} as const;
