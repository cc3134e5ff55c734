/** The guides under docs/ that consist of calls. */
export const GUIDES = {
  'guides:access': ['docs/access.md', 'Every call of the guide to roles and access works as it shows.'],
  'guides:tokens': ['docs/tokens.md', 'Every call of the guide to tokens works as it shows.'],
  'guides:boundaries': ['docs/boundaries.md', 'Every call of the guide to boundaries works as it shows.'],
  'guides:budgets': ['docs/budgets.md', 'Every call of the guide to budgets works as it shows.'],
  'guides:market': ['docs/market.md', 'Every call of the guide to the market works as it shows.'],
  'guides:calls': ['docs/calls.md', 'Every call of the guide to calls, headers and limits works as it shows.'],
  'guides:client': ['docs/client.md', 'Every program of the guide to the typed client works as it shows.'],
  'guides:mcp': ['docs/mcp.md', 'Every request of the guide to the Model Context Protocol works as it shows.'],
  'guides:listening': ['docs/listening.md', 'Every client of the guide to events works as it shows.'],
  'guides:storage': ['docs/storage.md', 'Every call of the guide to files of any kind works as it shows.'],
  'guides:search': ['docs/search.md', 'Every call of the guide to search and context works as it shows.'],
  'guides:temporary': ['docs/temporary.md', 'Every call of the guide to what stays for a while works as it shows.'],
  'guides:relations': [
    'docs/relations.md',
    'Every call of the guide to what is noted about a brain works as it shows.',
  ],
  'guides:copies': ['docs/copies.md', 'Every call of the guide to copies of a brain works as it shows.'],
} as const;
