-- CreateTable
CREATE TABLE "brain"."evolution_sessions" (
    "brain_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "session" TEXT NOT NULL,
    "active_key" TEXT,
    "branch" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "insights" INTEGER NOT NULL DEFAULT 0,
    "files" INTEGER NOT NULL DEFAULT 0,
    "uncounted" BIGINT NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "evolution_sessions_pkey" PRIMARY KEY ("brain_id","id")
);

-- CreateTable
CREATE TABLE "brain"."evolution_events" (
    "brain_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "times" INTEGER NOT NULL,
    "text" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "evolution_events_pkey" PRIMARY KEY ("brain_id","session_id","kind","subject")
);

-- CreateIndex
CREATE UNIQUE INDEX "evolution_sessions_active_key_key" ON "brain"."evolution_sessions"("active_key");

-- CreateIndex
CREATE INDEX "evolution_sessions_brain_id_active_key_idx" ON "brain"."evolution_sessions"("brain_id", "active_key");
