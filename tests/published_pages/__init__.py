"""What the published pages print, typed from them: what reports of these pages are held to."""
