import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { expect, test } from 'vitest';
import { NOW_AS_KEPT } from './sql-time.ts';

await onPostgres((open) => {
  test('a moment that was kept has come at once, although keeping it may have rounded it up', async () => {
    const database = await open();
    const session = await database.pool.connect();
    await session.query(`CREATE FUNCTION pg_temp.look() RETURNS TABLE ("asKept" bool, "asItIs" bool) AS $$
      DECLARE kept timestamptz(3);
      BEGIN
        SELECT true, true INTO "asKept", "asItIs";
        FOR moment IN 1..20000 LOOP
          kept := clock_timestamp();
          "asKept" := "asKept" AND kept <= ${NOW_AS_KEPT};
          kept := clock_timestamp();
          "asItIs" := "asItIs" AND kept <= clock_timestamp();
        END LOOP;
        RETURN NEXT;
      END $$ LANGUAGE plpgsql`);
    const { rows } = await session.query('SELECT * FROM pg_temp.look()');
    session.release();
    await database.close();
    expect(rows).toEqual([{ asKept: true, asItIs: false }]);
  });
});
