/** Brings a database back to the rows that it had at first, which takes a tenth of the time of making a new one. */
import type { Pool } from 'pg';

const KEPT = 'first_rows';

/** What a test may have made, dropped or altered: then the database is no longer what the migrations make. */
const SHAPE = `
  SELECT md5(string_agg(md5(concat_ws(' ', nspname, relname, relkind, relrowsecurity, attname, atttypid, attnotnull,
      (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgenabled = 'O'),
      (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = c.oid))), '' ORDER BY nspname, relname, attnum)) AS shape
  FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace LEFT JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
  WHERE nspname !~ '^(pg_|information_schema)'`;

/** Only what holds rows is emptied: most tables of a test never had any. */
const RESTORE = `
  DO $restore$
  DECLARE one record; has boolean; filled text[] := '{}';
  BEGIN
    SET LOCAL session_replication_role = replica; -- some tables keep their rows from being removed
    FOR one IN SELECT schemaname, tablename FROM pg_tables
               WHERE schemaname !~ '^(pg_|information_schema|${KEPT})' LOOP
      EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', one.schemaname, one.tablename) INTO has;
      IF has THEN filled := filled || format('%I.%I', one.schemaname, one.tablename); END IF;
    END LOOP;
    IF filled <> '{}' THEN EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' CASCADE'; END IF;
    FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = '${KEPT}' LOOP
      EXECUTE format('INSERT INTO %s SELECT * FROM ${KEPT}.%I', one.tablename, one.tablename);
    END LOOP;
    FOR one IN SELECT schemaname, sequencename, start_value FROM pg_sequences WHERE last_value IS NOT NULL LOOP
      EXECUTE format('ALTER SEQUENCE %I.%I RESTART WITH %s', one.schemaname, one.sequencename, one.start_value);
    END LOOP;
  END $restore$`;

export class FirstRows {
  readonly #shape: string;

  private constructor(shape: string) {
    this.#shape = shape;
  }

  /** Keeps a copy of the rows that are there now, each table's under its qualified name. */
  static async of(pool: Pool): Promise<FirstRows> {
    await pool.query(`
      DO $keep$
      DECLARE one record; has boolean;
      BEGIN
        CREATE SCHEMA ${KEPT};
        FOR one IN SELECT schemaname, tablename FROM pg_tables
                   WHERE schemaname !~ '^(pg_|information_schema|${KEPT})' LOOP
          EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', one.schemaname, one.tablename) INTO has;
          CONTINUE WHEN NOT has;
          EXECUTE format('CREATE TABLE ${KEPT}.%I AS TABLE %I.%I',
            format('%I.%I', one.schemaname, one.tablename), one.schemaname, one.tablename);
        END LOOP;
      END $keep$`);
    return new FirstRows(await shapeOf(pool));
  }

  /** False when the database is no longer what it was, or no longer answers: nobody may use it then. */
  async restore(pool: Pool): Promise<boolean> {
    try {
      await pool.query('DISCARD ALL');
      await pool.query(RESTORE);
      return (await shapeOf(pool)) === this.#shape;
    } catch {
      return false;
    }
  }
}

async function shapeOf(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ shape: string }>(SHAPE);
  return rows[0]?.shape ?? '';
}
