-- CreateTable
CREATE TABLE "eighth"."notes" (
    "note_id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "counted" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "notes_pkey" PRIMARY KEY ("note_id")
);
