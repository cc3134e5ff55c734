-- Names are listed in the order of their bytes, whatever the collation of the database.
CREATE INDEX "workspaces_by_bytes" ON "habitat"."workspaces" ("workspace_id" COLLATE "C");
CREATE INDEX "policies_by_bytes" ON "habitat"."policies" ("resource" COLLATE "C");
-- Agents that live, among all that were ever killed.
CREATE INDEX "agents_live" ON "habitat"."agents" ("agent_id") WHERE "killed_at" IS NULL;
