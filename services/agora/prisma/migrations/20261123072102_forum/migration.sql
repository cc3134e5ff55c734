-- CreateTable
CREATE TABLE "agora"."posts" (
    "id" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "tags" TEXT[],
    "workspace" TEXT,
    "author" TEXT,
    "family" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "posts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agora"."presence" (
    "session" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "agent_id" TEXT,
    "workspace" TEXT,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "presence_pkey" PRIMARY KEY ("session")
);

-- CreateIndex
CREATE INDEX "posts_workspace_idx" ON "agora"."posts"("workspace");

-- CreateIndex
CREATE INDEX "posts_family_idx" ON "agora"."posts"("family");

-- CreateIndex
CREATE INDEX "posts_tags_idx" ON "agora"."posts" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "presence_principal_idx" ON "agora"."presence"("principal");

-- CreateIndex
CREATE INDEX "presence_seen_at_idx" ON "agora"."presence"("seen_at");
