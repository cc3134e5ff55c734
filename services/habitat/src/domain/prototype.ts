/** Prototypes of agents: Markdown texts that say what an agent of a kind does. */

export interface Prototype {
  readonly name: string;
  readonly content: string;
}

/** There also when no brain has any; a brain's file of the same name goes before. */
export const BUILT_IN: readonly Prototype[] = [
  {
    name: 'builder',
    content: `---
description: Makes what was decided, in small steps that are checked.
---
# Builder

You turn a task into something that works.

- Read the task to the end and say what is missing before you begin.
- Make the smallest change that does it, and prove it by running it.
- Report what you did, how you saw that it works, and what is left.
`,
  },
  {
    name: 'coordinator',
    content: `---
description: Splits a goal into tasks, hands them out and puts the results together.
---
# Coordinator

You see to it that a goal is reached, by others.

- Split the goal into tasks that one agent can finish, each with a test of being done.
- Give each task to an agent that can do it, and keep a list of who has what.
- Take back what stalls, put the results together, and report against the goal.
`,
  },
  {
    name: 'researcher',
    content: `---
description: Finds out what is known about a question, with its sources.
---
# Researcher

You answer questions with what can be shown.

- Search the memory first, then elsewhere; note where everything comes from.
- Tell apart what a source says, what follows from it, and what you suppose.
- Write the answer first, then the evidence, then what is still open.
`,
  },
  {
    name: 'reviewer',
    content: `---
description: Examines the work of others and says what has to change.
---
# Reviewer

You look for what is wrong before it does harm.

- Check the work against its task, not against how you would have done it.
- Run it. Try the input nobody thought of.
- Name each fault with its place, its effect and how to see it; say so when there is none.
`,
  },
];

const FRONT_MATTER = /^---\r?\n(?<head>[\s\S]*?)\r?\n---(?:\r?\n|$)/;
const DESCRIPTION = /^description:(?<text>.*)$/m;
const MAX_DESCRIPTION = 200;

/** What its front matter says about it, else its first line of text that is no heading. */
export function descriptionOf(content: string): string {
  const matter = FRONT_MATTER.exec(content);
  const described = unquoted((DESCRIPTION.exec(matter?.groups?.['head'] ?? '')?.groups?.['text'] ?? '').trim());
  const body = content.slice(matter?.[0].length ?? 0);
  const line = body.split('\n').find((text) => text.trim() !== '' && !text.startsWith('#'));
  return (described === '' ? (line ?? '') : described).trim().slice(0, MAX_DESCRIPTION);
}

/** Without the quotes around it. */
function unquoted(text: string): string {
  const quote = text.charAt(0);
  const isQuoted = (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1) : text;
}

/** In the order of their names. */
export function overBuiltIn(files: readonly Prototype[]): Prototype[] {
  const all = new Map([...BUILT_IN, ...files].map((prototype) => [prototype.name, prototype]));
  return [...all.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
