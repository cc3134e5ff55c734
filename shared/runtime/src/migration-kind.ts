/** Which migrations take nothing away from software that does not know of them. */

const COMMENTS = /--.*$|\/\*[\s\S]*?\*\//gm;
const LITERALS = /'(?:[^']|'')*'/g;
const TABLE = String.raw`(?:IF NOT EXISTS |ONLY )?([\w".]+)`;
const CREATE_TABLE = new RegExp(`^CREATE TABLE ${TABLE}`, 'i');
const HARMLESS =
  /^(?:CREATE SCHEMA|CREATE TABLE|CREATE INDEX|CREATE SEQUENCE|CREATE (?:OR REPLACE )?VIEW|COMMENT ON) /i;
/** May do as they like with a table that is as new as they are. */
const ON_TABLE = [
  new RegExp(`^ALTER TABLE ${TABLE}`, 'i'),
  new RegExp(`^INSERT INTO ${TABLE}`, 'i'),
  /^CREATE UNIQUE INDEX .*? ON ([\w".]+)/i,
];
const ADDED_COLUMNS = new RegExp(`^ALTER TABLE ${TABLE} (ADD COLUMN .*)$`, 'i');
const REQUIRED = /\bNOT NULL\b/i;
const DEFAULT = /\bDEFAULT\b/i;

/**
 * True when the old software works on beside the new schema: only tables, indexes and columns that nobody has to fill.
 * Conservative: what is not recognised as harmless takes something away.
 */
export function isAdditive(sql: string): boolean {
  const statements = sql
    .replace(COMMENTS, ' ')
    .replace(LITERALS, "''")
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
  const made = new Set(statements.flatMap((statement) => CREATE_TABLE.exec(statement)?.[1] ?? []));
  return statements.every(
    (statement) => HARMLESS.test(statement) || isOnNewTable(statement, made) || addsColumns(statement),
  );
}

function isOnNewTable(statement: string, made: ReadonlySet<string>): boolean {
  return ON_TABLE.some((form) => made.has(form.exec(statement)?.[1] ?? ''));
}

/** Old software names its columns, so it fills none of the new ones. */
function addsColumns(statement: string): boolean {
  const [, , clauses] = ADDED_COLUMNS.exec(statement) ?? [];
  if (clauses === undefined) return false;
  return clauses
    .replace(/\([^()]*\)/g, '')
    .split(',')
    .every((clause) => /^ ?ADD COLUMN /i.test(clause) && isFree(clause));
}

function isFree(column: string): boolean {
  return !/\b(?:UNIQUE|PRIMARY|REFERENCES|CHECK)\b/i.test(column) && (!REQUIRED.test(column) || DEFAULT.test(column));
}
